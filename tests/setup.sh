#!/usr/bin/env bash
# Makes sure that the tools named as arguments are there, and installs what is missing: with apt-get (as root or through
# sudo), with rustup, and, for Python, with pip into target/test-python. What is there is left alone.
#
#   tests/setup.sh TOOL...     python3 cargo rustfmt clippy packages mariadb mariadbd sysbench postgres drivers frameworks chromium monitoring
#
# `packages` are the Python packages of tests/requirements.txt. `drivers` are the toolchains of the drivers in Go, Java and
# Node: those that cannot be had are no error, the suite says that it skips them. So are `postgres`, and, as `frameworks`, what mysqlclient is built
# with, and mydumper, and `chromium`, and, as `monitoring`, tools that look at a server. Anything else that is missing in the end is.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
PATH=$HOME/.cargo/bin:$PATH:/usr/sbin    # where rustup puts cargo, and Debian mariadbd

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
updated=0
# need COMMAND PACKAGE...: installs the packages if the command is not there.
need() {
  local command=$1; shift
  command -v "$command" >/dev/null 2>&1 && return 0
  command -v apt-get >/dev/null 2>&1 || return 1
  if [ $updated = 0 ]; then as_root apt-get update -qq && updated=1; fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null && command -v "$command" >/dev/null 2>&1
}

toolchain() {
  need cc gcc libc6-dev && need cargo rustup || { echo "a Rust toolchain is needed (rust-version in Cargo.toml): install it with rustup" >&2; return 1; }
  cargo --version >/dev/null 2>&1 || rustup default stable
}
packages() {
  cmp -s tests/requirements.txt target/test-python/requirements.txt && return 0
  rm -rf target/test-python
  python3 -m venv target/test-python 2>/dev/null || { need no-such-command python3-venv; python3 -m venv target/test-python || return 1; }
  target/test-python/bin/pip install -q --disable-pip-version-check -r tests/requirements.txt && cp tests/requirements.txt target/test-python/
}

for tool in "$@"; do
  case $tool in
    python3) need python3 python3 ;;
    cargo) toolchain ;;
    rustfmt) cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt ;;
    clippy) cargo clippy --version >/dev/null 2>&1 || rustup component add clippy ;;
    packages) packages ;;
    mariadb) need mariadb mariadb-client ;;
    mariadbd) need mariadbd mariadb-server ;;
    chromium) need chromium chromium fonts-dejavu-core; true ;;
    sysbench) need sysbench sysbench ;;
    postgres) ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || need initdb postgresql; true ;;
    drivers) need go golang-go; need mvn maven default-jdk-headless; need npm nodejs npm; true ;;
    frameworks) need mariadb_config libmariadb-dev; need pkg-config pkg-config; need mydumper mydumper; true ;;
    monitoring)
      need mysqladmin mariadb-client; need pt-mysql-summary percona-toolkit libdbd-mysql-perl; need mysqltuner mysqltuner
      need prometheus-mysqld-exporter prometheus-mysqld-exporter; perl -MDBD::MariaDB -e 1 2>/dev/null || need no-such-command libdbd-mariadb-perl
      [ -d /usr/share/phpmyadmin ] || need no-such-command phpmyadmin php-cli php-mysql; true ;;
    *) echo "setup.sh knows no tool called $tool" >&2; false ;;
  esac || { echo "cannot find or install $tool" >&2; exit 1; }
done
