"""The shipped objects and the server against a real control plane: one story, told in order. Run it with run.sh."""

import base64
import json
import os
import re
import signal
import sys
import time
import unittest
import urllib.request
from pathlib import Path

from control_plane import ControlPlane, https, wait_until
from node import ENGINE_PORT, EngineFleet, Node

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
GROUP = "custom.metrics.k8s.io"
SYSTEM = "loadline-system"
SERVER_NAME = f"loadline.{SYSTEM}.svc"
IN_FLIGHT = "inference_requests_in_flight"
LOAD = 22  # requests a second over all engines: a little more than four of them can do, so that four it stays


def number(quantity):
    value, unit = re.fullmatch(r"(-?[0-9.]+)([mk]?)", quantity).groups()
    return float(value) * {"m": 0.001, "k": 1000, "": 1}[unit]


def metric_path(metric, pod="*", version="v1beta2", selector="engine=vllm"):
    query = "" if selector is None else f"?labelSelector={selector.replace('=', '%3D')}"
    return f"/apis/{GROUP}/{version}/namespaces/default/pods/{pod}/{metric}{query}"


class EndToEnd(unittest.TestCase):
    result = None

    @classmethod
    def setUpClass(cls):
        started = time.monotonic()
        cls.plane = ControlPlane(os.environ["KUBEBUILDER_ASSETS"], ROOT / "build" / "e2e-logs")
        cls.addClassCleanup(lambda: cls.plane.stop(keep_logs=not (cls.result and cls.result.wasSuccessful())))
        cls.plane.start()
        print(f"control plane ready after {time.monotonic() - started:.1f} s", flush=True)
        cls.kubectl = cls.plane.kubectl

        cls.kubectl("apply", "-k", ROOT / "tests/e2e/overlay")
        cls.plane.certificate("loadline-ca", "/CN=loadline-ca")
        cls.plane.certificate("loadline", f"/CN={SERVER_NAME}", "loadline-ca", f"DNS:{SERVER_NAME}")
        bundle = base64.b64encode((cls.plane.folder / "loadline-ca.crt").read_bytes()).decode()
        for version in ("v1beta1", "v1beta2"):
            cls.kubectl("patch", "apiservice", f"{version}.{GROUP}", "-p", json.dumps({"spec": {"caBundle": bundle}}))
        cls.start_loadline()

        cls.fleet = EngineFleet(cls.plane.folder, os.environ.get("ENGINE_FLEET", BUILD / "tests/support/engine_fleet"))
        cls.plane.processes["engine_fleet"] = cls.fleet.process
        cls.node = Node(cls.plane, cls.fleet, "default")
        cls.node.start()
        cls.addClassCleanup(cls.node.stop)
        cls.plane.client_certificate("mallory", "/CN=mallory")

    @classmethod
    def start_loadline(cls, certificate="loadline"):
        """As the shipped ServiceAccount, on the Service's address."""
        cls.address = cls.kubectl("get", "service", "loadline", "-n", SYSTEM, "-o", "jsonpath={.spec.clusterIP}").stdout
        cls.plane.kubeconfig("loadline", token=cls.kubectl("create", "token", "loadline", "-n", SYSTEM).stdout.strip())
        cls.loadline = cls.plane.run(
            "loadline", os.environ.get("LOADLINE", BUILD / "loadline"), "serve", "--scrape-interval=1s",
            f"--kubeconfig={cls.plane.folder}/loadline.kubeconfig", f"--bind-address={cls.address}", "--secure-port=6443",
            f"--tls-cert-file={cls.plane.folder}/{certificate}.crt",
            f"--tls-private-key-file={cls.plane.folder}/{certificate}.key")

    def run(self, result=None):
        type(self).result = result
        return super().run(result)

    def setUp(self):
        self.assertIsNone(self.node.problem)
        started = time.monotonic()
        self.addCleanup(lambda: print(f"{time.monotonic() - started:.1f} s", end=" ", file=sys.stderr, flush=True))

    # --- what the story is told with ------------------------------------------------------------------------------

    def values(self, metric=IN_FLIGHT, **where):
        """{pod: value} as an admin sees it through the aggregator."""
        status, answer = self.plane.api("GET", metric_path(metric, **where))
        self.assertEqual(status, 200, answer)
        return {item["describedObject"]["name"]: number(item["value"]) for item in answer["items"]}

    def direct(self, path, certificate=None, headers=None):
        """Past the aggregator."""
        return https("GET", f"{self.address}:6443", path, self.plane.folder / "loadline-ca.crt", SERVER_NAME,
                     certificate and self.plane.folder / certificate, headers=headers)

    def pods(self, selector="app=vllm"):
        return set(self.kubectl("get", "pods", "-l", selector, "-o", "jsonpath={.items[*].metadata.name}").stdout.split())

    def replicas(self):
        return int(self.kubectl("get", "deployment", "vllm", "-o", "jsonpath={.spec.replicas}").stdout)

    def hpa_condition(self, kind):
        return self.kubectl("get", "hpa", "vllm", "-o", "jsonpath={.status.conditions[?(@.type=='%s')].status}" % kind).stdout

    def wait_available(self):
        for version in ("v1beta1", "v1beta2"):
            self.kubectl("wait", "--for=condition=Available", f"apiservice/{version}.{GROUP}", "--timeout=50s")

    # --- the story ------------------------------------------------------------------------------------------------

    def test_01_apiservices_become_available(self):
        self.wait_available()

    def test_02_the_shipped_pods_pass_the_restricted_pod_security_standard(self):
        count = ["get", "pods", "-n", SYSTEM, "-l", "app.kubernetes.io/name=loadline", "-o", "name"]
        wait_until("the Deployment makes its pod", lambda: self.kubectl(*count).stdout, 20)

    def test_03_discovery_lists_the_metrics_and_prefers_v1beta2(self):
        self.assertEqual("", self.kubectl("api-resources", "--api-group", GROUP).stderr)
        for version in ("v1beta1", "v1beta2"):
            status, answer = self.plane.api("GET", f"/apis/{GROUP}/{version}")
            self.assertEqual(200, status)
            self.assertEqual(f"{GROUP}/{version}", answer["groupVersion"])
            self.assertIn(f"pods/{IN_FLIGHT}", [resource["name"] for resource in answer["resources"]])
        _, groups = self.plane.api("GET", "/apis")
        ours = [group for group in groups["groups"] if group["name"] == GROUP]
        self.assertEqual("v1beta2", ours[0]["preferredVersion"]["version"])

    def test_04_ready_pods_have_values_and_idle_is_zero(self):
        self.kubectl("apply", "-f", ROOT / "tests/e2e/engines.yaml")
        self.kubectl("wait", "--for=condition=Available", "deployment/vllm", "--timeout=30s")
        self.kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/vllm-never-ready", "--timeout=30s")
        pods = self.pods()
        self.assertEqual(2, len(pods))
        idle = dict.fromkeys(pods, 0.0)
        wait_until("both ready pods have the value 0", lambda: self.values() == idle, 30)
        self.assertIn("vllm-never-ready", self.pods("engine=vllm"))

    def test_05_values_are_those_of_the_engines_pages(self):
        self.kubectl("delete", "pod", "vllm-never-ready", "--wait=false")  # so that it takes no share of the load
        self.fleet.command(f"rate {LOAD}")

        def near():
            served = self.values()
            for pod in self.pods():
                ip = self.kubectl("get", "pod", pod, "-o", "jsonpath={.status.podIP}").stdout
                with urllib.request.urlopen(f"http://{ip}:{ENGINE_PORT}/metrics", timeout=5) as page:
                    text = page.read().decode()
                gauges = re.findall(r"^vllm:num_requests_(?:running|waiting)\{.* (\S+)$", text, re.MULTILINE)
                self.assertEqual(2, len(gauges))
                truth = sum(map(float, gauges))
                self.assertGreater(truth, 0)
                self.assertAlmostEqual(truth, served[pod], delta=max(3.0, truth / 4))
            return True
        wait_until("values that agree with the pages", near, 30)

    def test_06_one_pod_by_name_and_both_versions_forms(self):
        pod = min(self.pods())
        for version, name in (("v1beta1", {"metricName": IN_FLIGHT}), ("v1beta2", {"metric": {"name": IN_FLIGHT, "selector": None}})):
            raw = self.kubectl("get", "--raw", metric_path(IN_FLIGHT, pod, version, selector=None)).stdout
            answer = json.loads(raw)
            self.assertEqual(("MetricValueList", f"{GROUP}/{version}"), (answer["kind"], answer["apiVersion"]))
            self.assertEqual([pod], [item["describedObject"]["name"] for item in answer["items"]])
            self.assertEqual(name, {key: answer["items"][0].get(key) for key in name})

    def test_07_an_unknown_metric_is_a_404_that_names_it(self):
        answer = self.kubectl("get", "--raw", metric_path("nope"), check=False)
        self.assertEqual(1, answer.returncode)
        self.assertRegex(answer.stderr, r"NotFound.*the server could not find the metric nope for pods")

    def test_08_a_user_without_rights_is_refused_by_kubernetes_and_by_us(self):
        refusal = (f'pods.{GROUP} "*" is forbidden: User "mallory" cannot get resource "pods/{IN_FLIGHT}" in API group '
                   f'"{GROUP}" in the namespace "default"')
        answer = self.kubectl("get", "--raw", metric_path(IN_FLIGHT), user="mallory", check=False)
        self.assertEqual(1, answer.returncode)
        self.assertIn(refusal, answer.stderr)
        status, answer = self.direct(metric_path(IN_FLIGHT), certificate="mallory")
        self.assertEqual((403, refusal), (status, answer["message"]))

    def test_09_bearer_tokens_are_asked_about(self):
        hpa = self.kubectl("create", "token", "horizontal-pod-autoscaler", "-n", "kube-system").stdout.strip()
        nobody = self.kubectl("create", "token", "default").stdout.strip()
        for token, want in ((hpa, 200), (nobody, 403), ("made.up.token", 401)):
            status, answer = self.direct(metric_path(IN_FLIGHT), headers={"Authorization": f"Bearer {token}"})
            self.assertEqual(want, status, answer)

    def test_10_forged_identity_headers_are_not_believed(self):
        forged = {"X-Remote-User": "system:admin", "X-Remote-Group": "system:masters"}
        for certificate, user in ((None, "system:anonymous"), ("mallory", "mallory")):
            status, answer = self.direct(metric_path(IN_FLIGHT), certificate, forged)
            self.assertEqual(403, status, answer)
            self.assertIn(f'User "{user}"', answer["message"])
        status, answer = self.direct(metric_path(IN_FLIGHT), "front-proxy-client", forged)
        self.assertEqual(200, status, answer)  # the same headers from the aggregator

    def test_11_a_deleted_pod_leaves_the_answer(self):
        before = self.pods()
        self.assertEqual(before, set(self.values()))
        gone = min(before)
        self.kubectl("delete", "pod", gone, "--wait=false")

        def replaced():
            served = set(self.values())
            return gone not in served and len(served) == 2 and served == self.pods()
        wait_until(f"{gone} is out, its successor in", replaced, 30)

    def test_12_the_hpa_scales_up_under_load(self):
        self.kubectl("apply", "-f", ROOT / "manifests/examples/hpa.yaml")
        wait_until("four replicas", lambda: self.replicas() == 4, 90, every=1)
        self.assertEqual("True", self.hpa_condition("ScalingActive"))
        wait_until("all four have values", lambda: set(self.values()) == self.pods(), 30)

    def test_13_a_killed_server_changes_no_count_and_comes_back(self):
        self.assertEqual(-signal.SIGKILL, self.loadline.stop(signal.SIGKILL))
        wait_until("the HPA sees no metrics", lambda: self.hpa_condition("ScalingActive") == "False", 30, every=1)
        self.assertEqual(4, self.replicas())
        self.start_loadline()
        wait_until("answers again", lambda: len(self.values()) == 4, 60)
        self.wait_available()
        wait_until("the HPA has metrics again", lambda: self.hpa_condition("ScalingActive") == "True", 60, every=1)
        self.assertEqual(4, self.replicas())

    def test_14_a_restart_of_kube_apiserver_is_survived(self):
        pid = self.loadline.child.pid
        self.plane.processes.pop("kube-apiserver").stop(seconds=90)
        self.plane.start_apiserver()
        wait_until("answers through the new one", lambda: len(self.values()) == 4, 60)
        gone = min(self.pods())
        self.kubectl("delete", "pod", gone, "--wait=false")
        wait_until("its watch goes on", lambda: set(self.values()) == self.pods() and gone not in self.pods(), 60)
        self.assertEqual((pid, True), (self.loadline.child.pid, self.loadline.alive()))

    def test_15_the_hpa_scales_down_after_the_load(self):
        self.fleet.command("rate 0")
        wait_until("one replica", lambda: self.replicas() == 1, 120, every=1)
        wait_until("one value", lambda: set(self.values()) == self.pods() and len(self.pods()) == 1, 30)

    def test_16_sigterm_ends_the_server_with_exit_code_0(self):
        self.assertEqual(0, self.loadline.stop(signal.SIGTERM, seconds=10))

    def test_17_the_chart_does_the_same_and_keeps_its_certificate(self):
        helm = self.plane.assets / "helm"
        if not helm.exists():
            self.skipTest(f"no {helm}")
        overlay = ROOT / "tests/e2e/overlay"
        self.kubectl("delete", "-k", overlay)
        self.kubectl("create", "namespace", SYSTEM)
        self.kubectl("label", "namespace", SYSTEM, "pod-security.kubernetes.io/warn=restricted")

        def release(action):
            done = self.plane.client(helm, action, "loadline", ROOT / "charts/loadline", "-n", SYSTEM, "--set=service.port=6443")
            self.assertNotIn("would violate PodSecurity", done.stderr)
            return [self.kubectl("get", "secret", "loadline-tls", "-n", SYSTEM, "-o", f"jsonpath={{.data.tls\\.{part}}}").stdout
                    for part in ("crt", "key")]
        pair = release("install")
        self.assertEqual(pair, release("upgrade"))
        for part, text in zip(("crt", "key"), pair):
            (self.plane.folder / f"chart.{part}").write_bytes(base64.b64decode(text))
        self.kubectl("apply", "-f", overlay / "endpointslice.yaml")
        self.start_loadline("chart")
        self.wait_available()
        wait_until("a value", lambda: set(self.values()) == self.pods(), 30)
        self.plane.client(helm, "uninstall", "loadline", "-n", SYSTEM)
        self.assertEqual("", self.kubectl("get", "apiservice", "-l", "app.kubernetes.io/name=loadline", "-o", "name").stdout)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the clean-up runs
    unittest.main(failfast=True, verbosity=2)
