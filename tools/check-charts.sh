#!/usr/bin/env bash
# Lints and renders charts/loadline over a matrix of values, sees that wrong values are refused, and that chart and
# manifests/base say the same. Needs no cluster (tests/e2e installs the chart into a real one). helm and kubectl come
# from PATH or tools/fetch-assets.sh; skips loudly, with E2E_SKIP_CODE or 0, where there are none.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
chart=$root/charts/loadline
have() { command -v helm >/dev/null && command -v kubectl >/dev/null; }
have || PATH=$PATH:$("$root/tools/fetch-assets.sh") || true
have || { echo "SKIPPED charts: no helm and kubectl on this machine"; exit "${E2E_SKIP_CODE:-0}"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAILED charts: $*"; failures=$((failures + 1)); }

good=(
  ""
  "replicas=3,priorityClassName=system-cluster-critical,podAnnotations.a=b,nodeSelector.disk=ssd"
  "tls.existingSecret=own,apiService.insecureSkipTLSVerify=true"
  "tls.existingSecret=own,apiService.annotations.cert-manager\.io/inject-ca-from=ns/own"
  "tls.existingSecret=own,tls.caBundle=-----BEGIN CERTIFICATE-----x"
  "apiService.v1beta1.create=false"
  "apiService.v1beta1.create=false,apiService.v1beta2.create=false"
  "fullnameOverride=metrics,port=8443,service.port=8443,image.repository=r.example/l,image.tag=x,imagePullSecrets[0].name=s"
  "extraArgs[0]=-v=1,tolerations[0].operator=Exists,resources.limits.cpu=1"
)
for values in "${good[@]}"; do
  helm lint --strict --quiet --set "$values" "$chart" || fail "lint with '$values'"
  helm template release "$chart" -n some --set "$values" >"$work/out.yaml" || fail "template with '$values'"
  ! grep -n '<no value>' "$work/out.yaml" || fail "an empty value with '$values'"
done

bad=("replica=2" "replicas=two" "port=443" "port=70000" "image.repository=" "scrapeInterval=5" "extraArgs[0]=serve"
  "tls.existingSecret=own" "tls.caBundle=x" "apiService.v1beta3.create=true" "fullnameOverride=Not_A_Name")
for values in "${bad[@]}"; do
  helm template release "$chart" --set "$values" >/dev/null 2>&1 && fail "wrong values '$values' were taken"
done

# One truth: what the server may do, and which objects there are.
helm template loadline "$chart" -n loadline-system >"$work/chart.yaml"
kubectl kustomize "$root/manifests/base" >"$work/base.yaml"
kinds() { grep -E '^kind:' "$1" | grep -vE 'Namespace|Secret' | sort; }
diff <(kinds "$work/base.yaml") <(kinds "$work/chart.yaml") || fail "chart and manifests/base hold different kinds"
for word in system:auth-delegator extension-apiserver-authentication-reader "versionPriority: 200" "versionPriority: 100" \
  "readOnlyRootFilesystem: true" "allowPrivilegeEscalation: false" "runAsNonRoot: true" "path: /readyz" "path: /livez"; do
  [[ "$(grep -c "$word" "$work/base.yaml")" == "$(grep -c "$word" "$work/chart.yaml")" ]] ||
    fail "chart and manifests/base differ in '$word'"
done

((failures == 0)) && echo "charts: ${#good[@]} good and ${#bad[@]} wrong sets of values, all as they should be"
exit $((failures > 0))
