#!/usr/bin/env bash
# Makes sure that the tools named as arguments are there, and installs what is missing: with apt-get (as root or through
# sudo), with rustup, and, for Python, with pip into target/test-python. What is there is left alone. It says what it
# installs before it does; what the installers say themselves is in target/setup.log.
#
#   tests/setup.sh TOOL...     python3 cargo rustfmt clippy packages mariadb mariadbd sysbench postgres go java node frameworks chromium monitoring
#
# `packages` are the Python packages of tests/requirements.txt. `go`, `java` and `node` are the toolchains of drivers: those that cannot be had
# are no error, the suite says that it skips them. So are `postgres`, and, as `frameworks`, what mysqlclient is built
# with, and mydumper, and `chromium`, and, as `monitoring`, tools that look at a server. Anything else that is missing in the end is.
#
# Nothing that is installed is started, now or with the machine: no service of a package runs while it is installed, no cluster of PostgreSQL is
# made, and units that a package enables are disabled again.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
PATH=$HOME/.cargo/bin:$PATH:/usr/sbin    # where rustup puts cargo, and Debian mariadbd
mkdir -p target
log=$PWD/target/setup.log

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
quietly() { "$@" >>"$log" 2>&1 </dev/null; }
has() { command -v "$1" >/dev/null 2>&1; }

# The units that start with the machine.
units() { find /etc/systemd/system -path '*.wants/*' -printf '%f\n' 2>/dev/null | sort -u; }
scripts() { find /etc/rc2.d -name 'S*' -printf '%f\n' 2>/dev/null | sed 's/^S[0-9]*//' | sort -u; }

is_ready= had_policy=
# Before the first package: apt's lists, and no service is to be started.
begin() {
  [ -z "$is_ready" ] || return 0
  is_ready=1 units_before=$(units) scripts_before=$(scripts)
  [ -e /usr/sbin/policy-rc.d ] && had_policy=1
  trap finish EXIT
  [ -n "$had_policy" ] || { printf '#!/bin/sh\nexit 101\n' | as_root tee /usr/sbin/policy-rc.d >/dev/null && as_root chmod 755 /usr/sbin/policy-rc.d; }
  as_root mkdir -p /etc/postgresql-common/createcluster.d
  echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.d/tidemark-setup.conf >/dev/null
  quietly as_root apt-get update -qq
}
# After the last: what packages have enabled is disabled, but for the operating system's own.
finish() {
  local unit
  [ -n "$had_policy" ] || as_root rm -f /usr/sbin/policy-rc.d
  as_root rm -f /etc/postgresql-common/createcluster.d/tidemark-setup.conf
  for unit in $(comm -13 <(echo "$units_before") <(units) | grep -vE '^(systemd-|dbus|getty|remote-fs|e2scrub|fstrim|apt-|dpkg-)'); do
    echo "setup: $unit is not to start with the machine"
    if has systemctl; then quietly as_root systemctl disable "$unit"; else quietly as_root deb-systemd-helper disable "$unit"; fi
  done
  for unit in $(comm -13 <(echo "$scripts_before") <(scripts) | grep -vE '^(dbus|procps|kmod|udev|cron)$'); do
    quietly as_root update-rc.d "$unit" disable
  done
}
# install PACKAGE...
install() {
  has apt-get || return 1
  begin
  echo "setup: installing $* (apt-get)"
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold "$@" ||
    { echo "setup: apt-get cannot install $*; see $log" >&2; return 1; }
}
# need COMMAND PACKAGE...: installs the packages if the command is not there.
need() {
  local command=$1; shift
  has "$command" || { install "$@" && has "$command"; }
}
# rust COMMAND...: with rustup.
rust() { echo "setup: rustup $*"; quietly rustup "$@"; }

toolchain() {
  need cc gcc libc6-dev && need cargo rustup || { echo "a Rust toolchain is needed (rust-version in Cargo.toml): install it with rustup" >&2; return 1; }
  cargo --version >/dev/null 2>&1 || rust default stable
}
packages() {
  cmp -s tests/requirements.txt target/test-python/requirements.txt && return 0
  python3 -c 'import ensurepip, venv' 2>/dev/null || install python3-venv || return 1
  echo "setup: installing the Python packages of tests/requirements.txt into target/test-python (pip)"
  rm -rf target/test-python
  quietly python3 -m venv target/test-python || return 1
  quietly target/test-python/bin/pip install -q --disable-pip-version-check -r tests/requirements.txt && cp tests/requirements.txt target/test-python/
}

for tool in "$@"; do
  case $tool in
    python3) need python3 python3 ;;
    cargo) toolchain ;;
    rustfmt) cargo fmt --version >/dev/null 2>&1 || rust component add rustfmt ;;
    clippy) cargo clippy --version >/dev/null 2>&1 || rust component add clippy ;;
    packages) packages ;;
    mariadb) need mariadb mariadb-client ;;
    mariadbd) need mariadbd mariadb-server-core ;;
    chromium) need chromium chromium fonts-dejavu-core; true ;;
    sysbench) need sysbench sysbench ;;
    postgres) ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || install postgresql; true ;;
    go) need go golang-go; true ;;
    java) need mvn maven default-jdk-headless; true ;;
    node) need npm nodejs npm; true ;;
    frameworks) need mariadb_config libmariadb-dev; need pkg-config pkg-config; need mydumper mydumper; true ;;
    monitoring)
      need mysqladmin mariadb-client; need pt-mysql-summary percona-toolkit libdbd-mysql-perl; need mysqltuner mysqltuner
      need prometheus-mysqld-exporter prometheus-mysqld-exporter; perl -MDBD::MariaDB -e 1 2>/dev/null || install libdbd-mariadb-perl
      [ -d /usr/share/phpmyadmin ] || install phpmyadmin php-cli php-mysql; true ;;
    *) echo "setup.sh knows no tool called $tool" >&2; false ;;
  esac || { echo "cannot find or install $tool; see $log" >&2; exit 1; }
done
