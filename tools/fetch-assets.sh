#!/usr/bin/env bash
# Prints the folder that holds the binaries of the end-to-end tests: etcd, kube-apiserver, kube-controller-manager,
# kubectl and helm. A folder named by KUBEBUILDER_ASSETS is taken as it is; otherwise the Go programs are built once
# from the Go module proxy (versions: tests/e2e/assets/**/go.mod) into the user's cache, and etcd is the system's.
# Progress goes to stderr. Exit 3: this machine cannot have them, the last line says why.
set -euo pipefail

say() { echo "fetch-assets: $*" >&2; }
cannot() { say "$*"; exit 3; }

modules=$(cd "$(dirname "$0")/../tests/e2e/assets" && pwd)
programs=(kube-apiserver kube-controller-manager kubectl)

if [[ -n "${KUBEBUILDER_ASSETS:-}" ]]; then
  missing=()
  for program in etcd "${programs[@]}"; do
    [[ -x "$KUBEBUILDER_ASSETS/$program" ]] || missing+=("$program")
  done
  if ((${#missing[@]} == 0)); then
    echo "$KUBEBUILDER_ASSETS"
    exit 0
  fi
  say "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS lacks ${missing[*]}, so it is not used"
fi

# version_of MODULE GO_MOD -> the pinned version, v1.2.3
version_of() { awk -v module="$1" '$1 == module && $2 ~ /^v/ { print $2; exit }' "$2"; }
kubernetes=$(version_of k8s.io/kubernetes "$modules/go.mod")
helm=$(version_of helm.sh/helm/v3 "$modules/helm/go.mod")
client_go=$(version_of k8s.io/client-go "$modules/helm/go.mod")
IFS=. read -r major minor _ <<<"${kubernetes#v}"
assets=${XDG_CACHE_HOME:-$HOME/.cache}/loadline/assets/${kubernetes#v}

need_go() {
  local wanted have
  command -v go >/dev/null || cannot "no Go here to build the control plane; install Go or set KUBEBUILDER_ASSETS"
  wanted=$(awk '$1 == "go" { print $2; exit }' "$modules/go.mod")
  have=$(cd / && GOTOOLCHAIN=local go env GOVERSION)
  have=${have#go}
  [[ "$(printf '%s\n' "$wanted" "$have" | sort -V | head -n 1)" == "$wanted" ]] ||
    cannot "Go $have is too old, Kubernetes ${kubernetes} needs $wanted; install it or set KUBEBUILDER_ASSETS"
}

# build NAME MODULE_FOLDER PACKAGE LDFLAGS: nothing to do where it stands; half a binary is never seen under its name.
build() {
  local target=$assets/$1
  [[ -x "$target" ]] && return
  need_go
  cd "$2"
  export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly
  say "fetching the sources of $1"
  go list -deps "$3" >/dev/null || cannot "the Go module proxy ($(go env GOPROXY)) does not give the sources of $1"
  say "building $1 (minutes, once)"
  go build -p 2 -trimpath -buildvcs=false -ldflags "-s -w $4" -o "$target.$$" "$3" >&2
  mv "$target.$$" "$target"
}

etcd=$(command -v etcd || true)
[[ -x "$assets/etcd" || -n "$etcd" ]] || cannot "no etcd here; install Debian's etcd-server or set KUBEBUILDER_ASSETS"
mkdir -p "$assets"
exec 9>"$assets/.lock"
flock 9
trap 'rm -f "$assets"/*.$$' EXIT

[[ -x "$assets/etcd" ]] || ln -sfn "$etcd" "$assets/etcd"
# Without the version strings the servers take another version's feature gates.
version=k8s.io/component-base/version
for program in "${programs[@]}"; do
  build "$program" "$modules" "k8s.io/kubernetes/cmd/$program" \
    "-X $version.gitVersion=$kubernetes -X $version.gitMajor=$major -X $version.gitMinor=$minor"
done
# Helm names client-go's Kubernetes as the one that it renders for.
client_go_minor=$(cut -d. -f2 <<<"$client_go")
capabilities=helm.sh/helm/v3/pkg/chartutil
lint=helm.sh/helm/v3/pkg/lint/rules
build helm "$modules/helm" helm.sh/helm/v3/cmd/helm "-X helm.sh/helm/v3/internal/version.version=$helm \
  -X $capabilities.k8sVersionMajor=1 -X $capabilities.k8sVersionMinor=$client_go_minor \
  -X $lint.k8sVersionMajor=1 -X $lint.k8sVersionMinor=$client_go_minor"
echo "$assets"
