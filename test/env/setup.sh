# Set-up of a bare Debian 12 or 13: packages, an HDF5 1.14 with tools, Python environments.
# Sourced by ./run from the repository's root. What takes time is kept per user in $cache_dir, made
# once under a lock, put in place whole, and found again within milliseconds. Talks on stderr only.

cache_dir=${XDG_CACHE_HOME:-~/.cache}/h5zarr

note() { printf '%s\n' "$*" >&2; }
die() { note "run: $*"; exit 1; }

# Runs a command with its output in a log, whose end is shown if the command fails.
logged() {
  local log=$1
  shift
  "$@" >>"$log" 2>&1 || { note "failed: $*"; tail -n 30 "$log" >&2; return 1; }
}

ensure_packages() {
  local missing as_root=()
  mapfile -t missing < <(LC_ALL=C comm -23 \
    <(grep -vE '^\s*(#|$)' test/env/packages.txt | LC_ALL=C sort) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' |
      LC_ALL=C sort -u))
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$EUID" -ne 0 ]; then
    local ask=-n
    [ -t 0 ] && ask=
    command -v sudo >/dev/null && sudo $ask true 2>/dev/null ||
      die "packages are missing; as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  note "Installing packages: ${missing[*]}"
  mkdir -p "$cache_dir"
  local log=$cache_dir/apt.log
  : >"$log"
  # A broken third-party source must not stop us: what counts is whether the install succeeds.
  "${as_root[@]}" apt-get update >>"$log" 2>&1 || note "apt-get update reported errors; going on"
  logged "$log" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}" </dev/null ||
    die "could not install: apt-get install ${missing[*]}"
}

# Whether prefix $1 holds HDF5 1.14 or newer with headers and tools.
usable_hdf5() {
  local version
  [ -e "$1/include/H5VLconnector.h" ] || [ -e "$1/include/hdf5/serial/H5VLconnector.h" ] || return 1
  version=$("$1/bin/h5dump" --version 2>/dev/null | sed -nE 's/.*Version ([0-9.]+).*/\1/p')
  [ -n "$version" ] && printf '1.14\n%s\n' "$version" | sort -CV
}

# The newest HDF5 built here; h5_api_test is there only in a whole one.
built_hdf5() {
  local test
  test=$(ls -d "$cache_dir"/hdf5-1.14.*/libexec/h5_api_test 2>/dev/null | sort -V | tail -n 1)
  [ -n "$test" ] && printf '%s\n' "${test%/libexec/h5_api_test}"
}

# Sets hdf5_prefix: $HDF5_ROOT, else the system's, else one built from source.
ensure_hdf5() {
  if [ -n "${HDF5_ROOT:-}" ]; then
    hdf5_prefix=$HDF5_ROOT
    usable_hdf5 "$hdf5_prefix" ||
      die "HDF5_ROOT=$HDF5_ROOT: no HDF5 1.14 or newer with headers and bin/h5dump there"
  elif usable_hdf5 /usr; then
    hdf5_prefix=/usr
  else
    ensure_built_hdf5
    hdf5_prefix=$built_hdf5_prefix
  fi
}

# Sets built_hdf5_prefix: the one built from source, which has h5_api_test besides.
ensure_built_hdf5() {
  built_hdf5_prefix=$(built_hdf5) && return
  mkdir -p "$cache_dir"
  (
    exec 9>"$cache_dir/hdf5.lock"
    flock 9
    built_hdf5 >/dev/null && exit
    work=$(mktemp -d "$cache_dir/hdf5-build-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    fetch_hdf5_source "$work" && build_hdf5 "$work"
  ) || die "could not build HDF5 1.14; set HDF5_ROOT to an installed one (with headers and tools)"
  built_hdf5_prefix=$(built_hdf5)
}

# The Debian archive this machine uses: the first source of its own release, in either format.
debian_mirror() {
  local codename file
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-stable}")
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -r "$file" ] && sed -E 's/\[[^]]*\]//' "$file" |
      awk -v c="$codename" '($1 == "deb" || $1 == "deb-src") && $3 == c && / main/ { print $2 }'
  done | grep -m 1 . && return
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -r "$file" ] && awk -v c="$codename" '
      function flush() { if (index(suites " ", " " c " ") && index(parts " ", " main ")) print uri
                         uri = suites = parts = "" }
      /^[[:space:]]*$/ { flush() }
      /^URIs:/ { uri = $2 }
      /^Suites:/ { suites = $0 }
      /^Components:/ { parts = $0 }
      END { flush() }' "$file"
  done | grep -m 1 . || printf 'http://deb.debian.org/debian\n'
}

# Fetches the newest 1.14 source package in an apt state of its own and unpacks it in $1/source.
# A list may be ahead of the pool (404 on a version): the next lower one is taken then.
fetch_hdf5_source() {
  local work=$1 mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg suite version
  mirror=$(debian_mirror)
  mkdir -p "$work"/apt/{lists,archives}/partial "$work/package"
  for suite in trixie forky sid; do
    printf 'deb-src %s%s %s main\n' "$([ -r $keyring ] && printf '[signed-by=%s] ' $keyring)" \
      "$mirror" "$suite"
  done >"$work/apt/sources.list"
  cat >"$work/apt/apt.conf" <<EOF
Dir::State "$work/apt";
Dir::State::lists "$work/apt/lists";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$work/apt";
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "-";
Acquire::Languages "none";
APT::Sandbox::User "root";
EOF
  export APT_CONFIG=$work/apt/apt.conf
  note "Fetching HDF5's source package from $mirror"
  # One suite may be missing on a mirror; the versions found decide.
  apt-get update >"$work/apt.log" 2>&1 || true
  for version in $(apt-cache showsrc hdf5 2>/dev/null | sed -n 's/^Version: \(1\.14\..*\)/\1/p' |
    sort -Vur); do
    (cd "$work/package" && logged "$work/apt.log" apt-get source --download-only "hdf5=$version" &&
      logged "$work/apt.log" dpkg-source -x hdf5_*.dsc "$work/source") && return
    rm -rf "$work/source" "$work"/package/*
    note "hdf5 $version cannot be had; trying an older one"
  done
  note "no HDF5 1.14 source package found at $mirror"
  tail -n 20 "$work/apt.log" >&2
  return 1
}

# Builds libraries, tools and h5_api_test from $1/source and moves the finished prefix into place.
build_hdf5() {
  local work=$1 log=$1/build.log version final component launcher=()
  version=$(sed -nE 's/^#define H5_VERS_INFO .*version: ([0-9.]+).*/\1/p' \
    "$work/source/src/H5public.h")
  final=$cache_dir/hdf5-$version
  command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
  note "Building HDF5 $version (once; a few minutes)"
  logged "$log" cmake -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$final" "${launcher[@]}" -DBUILD_STATIC_LIBS=OFF -DBUILD_TESTING=ON \
    -DHDF5_TEST_API=ON -DHDF5_TEST_API_ENABLE_ASYNC=ON -DHDF5_BUILD_EXAMPLES=OFF \
    -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_ENABLE_Z_LIB_SUPPORT=ON \
    -DHDF5_ENABLE_SZIP_SUPPORT=OFF || return 1
  logged "$log" ninja -C "$work/build" src/all hl/src/all tools/lib/all tools/src/all h5_api_test ||
    return 1
  for component in libraries headers hllibraries hlheaders toolslibraries toolsapplications \
    configinstall; do
    DESTDIR=$work/root logged "$log" cmake --install "$work/build" --component $component ||
      return 1
  done
  # Both find the libraries by $ORIGIN/../lib.
  mkdir "$work/root$final/libexec" &&
    cp "$work/build/bin/h5_api_test" "$work/root$final/libexec/" &&
    cp -P "$work"/build/bin/libhdf5_test.so* "$work/root$final/lib/" &&
    rm -rf "$final" && mv -T "$work/root$final" "$final"
}

# Prints the jar of S3Proxy, a server of S3 that checks signatures; fails where it cannot be had (it needs java
# and mvn, which are not installed for it).
ensure_s3proxy() {
  local version=2.6.0 classifier=jar-with-dependencies work
  local jar=$cache_dir/s3proxy-$version-$classifier.jar
  command -v java >/dev/null && command -v mvn >/dev/null || return 1
  if [ ! -e "$jar" ]; then
    work=$(mktemp -d "$cache_dir/s3proxy-XXXXXX") || return 1
    logged "$cache_dir/s3proxy.log" timeout 300 mvn -q -B dependency:copy -DoutputDirectory="$work" \
      -Dartifact="org.gaul:s3proxy:$version:jar:$classifier" && mv "$work"/*.jar "$jar"
    rm -rf "$work"
  fi
  [ -e "$jar" ] && printf '%s\n' "$jar"
}

# Prints the program of nginx, the system's or the one of Debian's package, which is unpacked and not installed:
# installing it would start a server. Fails where there is none.
ensure_nginx() {
  local program=$cache_dir/nginx/usr/sbin/nginx work
  PATH=$PATH:/usr/sbin command -v nginx && return
  if ! "$program" -v 2>/dev/null; then
    work=$(mktemp -d "$cache_dir/nginx-XXXXXX") || return 1
    (cd "$work" && logged "$cache_dir/nginx.log" timeout 120 apt-get download nginx &&
      dpkg-deb -x nginx_*.deb unpacked && rm -rf "$cache_dir/nginx" && mv unpacked "$cache_dir/nginx")
    rm -rf "$work"
  fi
  "$program" -v 2>/dev/null && printf '%s\n' "$program"
}

# Prints the program of versitygw, a server of S3 over a folder; fails where it cannot be had (it needs go, which is
# not installed for it).
ensure_versitygw() {
  local version=1.8.0
  local bin=$cache_dir/versitygw-$version
  command -v versitygw && return
  command -v go >/dev/null || return 1
  [ -e "$bin/versitygw" ] || GOBIN=$bin logged "$cache_dir/versitygw.log" timeout 600 \
    go install "github.com/versity/versitygw/cmd/versitygw@v$version"
  [ -e "$bin/versitygw" ] && printf '%s\n' "$bin/versitygw"
}

# Sets base_python: a Python that can make environments.
find_python() {
  local python
  for python in ${H5ZARR_BASE_PYTHON:-python3 /usr/bin/python3}; do
    "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
      base_python=$python && return
  done
  die "no Python 3.11 or newer with venv and ensurepip found; set H5ZARR_BASE_PYTHON"
}

# Prints the Python of the environment for the requirement list $1, made where it is missing.
ensure_venv() {
  local requirements=$1 key dir
  key=$({ "$base_python" -c 'import sys; print(sys.base_prefix, sys.version)' &&
    cat "$requirements"; } | sha256sum | cut -c 1-12)
  dir=$cache_dir/venv-$key
  if [ ! -e "$dir/complete" ]; then
    mkdir -p "$cache_dir"
    (
      exec 9>"$dir.lock"
      flock 9
      [ -e "$dir/complete" ] || make_venv "$dir" "$requirements"
    ) || die "could not make the Python environment for $requirements"
  fi
  printf '%s\n' "$dir/bin/python"
}

# Prints what could not be had when the environment of Python $1 was made.
missing_packages() {
  grep . "${1%/bin/python}/complete" 2>/dev/null | paste -sd ' '
}

# All together if possible, else one by one without those that have no wheel for this Python.
make_venv() {
  local dir=$1 requirements=$2 one missing=() pip
  pip=("$dir/bin/python" -m pip install --quiet --no-input --only-binary :all:)
  note "Making the Python environment of $requirements (once)"
  rm -rf "$dir"
  logged "$dir.log" "$base_python" -m venv "$dir" || return 1
  if ! "${pip[@]}" -r "$requirements" >>"$dir.log" 2>&1; then
    note "not all of $requirements can be had together; one by one"
    while read -r one; do
      "${pip[@]}" "$one" >>"$dir.log" 2>&1 || missing+=("$one")
    done < <(grep -vE '^\s*(#|$)' "$requirements")
    logged "$dir.log" "$dir/bin/python" -c 'import numpy, h5py, zarr, pytest, xdist' || return 1
    [ ${#missing[@]} -eq 0 ] || note "not to be had for $("$base_python" -V): ${missing[*]}"
  fi
  printf '%s\n' "${missing[@]}" >"$dir/complete"
}
