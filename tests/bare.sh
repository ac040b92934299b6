#!/usr/bin/env bash
# Runs the two commands of README.md on a bare Debian 12: `cargo run --release` until the server is ready, takes a connection and
# stops, then `./test`. For use before a release: what the developers' machines happen to have hides what setup.sh forgets.
#
#   tests/bare.sh [--keep] [--binary FILE] [--folder DIR] [ARGUMENT OF ./test]...
#
#   --binary FILE   leaves the first command out and tests this server: for suites that need no build, as in
#                   `tests/bare.sh --binary target/release/tidemark --quick frameworks drivers clients`
#   --keep          goes on in the root of the run before, with what is installed there, and the commit of now
#   --folder DIR    where the root is (target/bare); it takes 8 GB, of which the packages that were fetched are kept for the next run
#
# The root is made by debootstrap (run as root: `apt-get install debootstrap iproute2`), with the mirror that this machine's apt uses. It has a
# clean clone of the commit that is checked out, the Rust toolchain of this machine (read only) and its registry of crates. Mounts and processes
# are of namespaces of their own, so that nothing of either is left, however this ends. The first command runs without a network, so
# that it has port 3306 whatever runs on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/target/bare keep= binary=
while [ $# -gt 0 ]; do
  case $1 in
    --keep) keep=1 ;;
    --binary) binary=$(realpath "$2"); shift ;;
    --folder) folder=$(realpath -m "$2"); shift ;;
    *) break ;;
  esac
  shift
done
root=$folder/root
rust=${RUSTUP_HOME:-$HOME/.rustup} cargo=${CARGO_HOME:-$HOME/.cargo}

# Everything below runs in namespaces whose end unmounts and kills all that was begun in them.
if [ -z "${TIDEMARK_BARE_INSIDE:-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "debootstrap and chroot need root" >&2; exit 1; }
  command -v debootstrap >/dev/null && command -v ip >/dev/null || { echo "apt-get install debootstrap iproute2" >&2; exit 1; }
  export TIDEMARK_BARE_INSIDE=1
  exec unshare --mount --pid --mount-proc --fork --kill-child "$0" ${keep:+--keep} ${binary:+--binary "$binary"} --folder "$folder" "$@"
fi

say() { echo "== bare: $*"; }
inside() { chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/root/.cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${passed[@]}" "$@"; }

# What the machine's own package managers have to know of its network: certificates, and settings of the clients.
passed=(${binary:+TIDEMARK_BINARY=/root/server/tidemark})
for name in http_proxy https_proxy no_proxy SSL_CERT_FILE NODE_EXTRA_CA_CERTS PIP_CERT REQUESTS_CA_BUNDLE CARGO_BUILD_JOBS; do
  [ -z "${!name:-}" ] || passed+=("$name=${!name}")
done

if [ -z "$keep" ]; then
  rm -rf "$root"
  mkdir -p "$root" "$folder/packages"
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | awk '$2 == "bookworm" && $3 == "main" { print $1; exit }')
  [ -n "$mirror" ] || { echo "no mirror of Debian 12 (bookworm) is configured in apt on this machine" >&2; exit 1; }
  say "a root of Debian 12"
  debootstrap --variant=minbase --include=ca-certificates --cache-dir="$folder/packages" bookworm "$root" "$mirror" >"$folder/debootstrap.log" 2>&1 ||
    { tail -5 "$folder/debootstrap.log" >&2; exit 1; }
  git clone -q --no-local . "$root/root/tidemark"
  mkdir -p "$root/root/.rustup" "$root/root/.cargo/registry" "$root/root/server"
  cp -a "$cargo/bin" "$root/root/.cargo/"
else
  git -C "$root/root/tidemark" fetch -q "$PWD" HEAD
  git -C "$root/root/tidemark" reset -q --hard FETCH_HEAD
fi
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/" 2>/dev/null || true
[ -z "$binary" ] || cp "$binary" "$root/root/server/tidemark"
for file in /etc/pip.conf "$HOME/.npmrc" "$HOME/.m2/settings.xml" "$HOME/.config/go/env" "$cargo/config.toml"; do
  [ ! -f "$file" ] || install -D "$file" "$root/${file/#$HOME/root}"
done

mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount --bind "$rust" "$root/root/.rustup"
mount -o remount,bind,ro "$root/root/.rustup"
mount --bind "$cargo/registry" "$root/root/.cargo/registry"
mount --bind "$folder/packages" "$root/var/cache/apt/archives"
inside update-ca-certificates >/dev/null 2>&1

failed=0
if [ -z "$binary" ]; then
  say "apt-get install gcc libc6-dev (as README.md says)"
  inside sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq gcc libc6-dev' >"$folder/apt.log" 2>&1
  inside sh -c 'cd /root/tidemark && cargo fetch -q --locked'
  say "cargo run --release"
  started=$SECONDS
  unshare --net -- bash -s "$folder/server.log" <<OUT || failed=1
    ip link set lo up
    chroot "$root" /usr/bin/env -i HOME=/root PATH=/root/.cargo/bin:/usr/bin:/bin ${passed[*]} sh -c 'cd /root/tidemark && exec cargo run --release' >"\$1" 2>&1 &
    runs=\$!
    until grep -q "is ready" "\$1"; do kill -0 \$runs || { tail -20 "\$1"; exit 1; }; sleep 1; done
    exec 3<>/dev/tcp/127.0.0.1/3306 && head -c 4 <&3 >/dev/null || { echo "it does not answer"; exit 1; }
    exec 3<&-
    kill -TERM \$runs && wait \$runs    # cargo has become the server
OUT
  [ $failed = 0 ] && say "ready, connected and stopped after $((SECONDS - started)) s" || { say "FAILED: cargo run --release"; tail -20 "$folder/server.log"; }
fi

say "./test $*"
inside sh -c 'cd /root/tidemark && exec ./test "$@"' ./test "$@" || failed=1

# What it leaves on the machine: nothing that is started with it, or now.
started=$(inside sh -c 'ls -d /etc/rc2.d/S* /etc/systemd/system/*.wants/* 2>/dev/null' | grep -E 'mariadb|mysql|postgres|prometheus|apache|php|nginx' || true)
[ -z "$started" ] || { say "FAILED: setup.sh left services that start with the machine: $started"; failed=1; }
say "$([ $failed = 0 ] && echo passed || echo FAILED)"
exit $failed
