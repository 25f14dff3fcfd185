"""Scheduler and kubelet of one namespace, played by a thread, and the simulated engines in its pods.

Binds each pod, gives it an address 127.20.0.x, starts an engine at that address port 8000, reports it Running and
Ready (unless the annotation e2e.loadline.dev/ready is "false"), and finalises deletions.
"""

import datetime
import subprocess
import threading
from control_plane import Process

NODE = "e2e-node"
ENGINE_PORT = 8000


class EngineFleet:
    """The engine_fleet process; one command a line in, one answer a line out. Thread-safe."""

    def __init__(self, folder, binary):
        self.lock = threading.Lock()
        self.process = Process(folder, "engine_fleet", [binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def command(self, line):
        with self.lock:
            self.process.child.stdin.write(line + "\n")
            self.process.child.stdin.flush()
            answer = self.process.child.stdout.readline().strip()
        if not answer.startswith("ok"):
            raise AssertionError(f"engine_fleet answered {answer!r} to {line!r}; its log: {self.process.log.read_text()[-500:]}")
        return answer


class Node:
    """start() and stop() from the main thread. problem: why the thread gave up, None while it lives."""

    def __init__(self, control_plane, fleet, namespace):
        self.plane, self.fleet, self.pods = control_plane, fleet, f"/api/v1/namespaces/{namespace}/pods"
        self.addresses = {}  # pod UID -> address
        self.last_number = 0
        self.problem = None
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def start(self):
        self.thread.start()

    def stop(self):
        self.ending.set()
        self.thread.join()

    def work(self):
        while not self.ending.wait(0.5):
            try:
                status, pods = self.plane.api("GET", self.pods)
                if status == 200:
                    self.sync(pods["items"])
            except OSError:
                pass  # kube-apiserver is away; so would a kubelet go on
            except Exception as error:  # pylint: disable=broad-except
                self.problem = error
                raise

    def sync(self, pods):
        for gone in set(self.addresses) - {pod["metadata"]["uid"] for pod in pods}:
            self.release(gone)
        for pod in pods:
            meta, path = pod["metadata"], f"{self.pods}/{pod['metadata']['name']}"
            if "deletionTimestamp" in meta:
                self.release(meta["uid"])
                self.plane.api("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}})
                continue
            if "nodeName" not in pod["spec"]:
                self.plane.api("POST", f"{path}/binding", {
                    "apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]},
                    "target": {"kind": "Node", "name": NODE}})
            ready = meta.get("annotations", {}).get("e2e.loadline.dev/ready") != "false"
            if meta["uid"] not in self.addresses:
                self.addresses[meta["uid"]] = self.free_address()
                self.fleet.command(f"add {self.addresses[meta['uid']]}:{ENGINE_PORT}")
            if is_ready(pod) != ready:
                self.report(path, self.addresses[meta["uid"]], pod["spec"]["containers"][0]["name"], ready)

    def free_address(self):
        while True:
            self.last_number = self.last_number % 250 + 1
            address = f"127.20.0.{self.last_number}"
            if address not in self.addresses.values():
                return address

    def release(self, uid):
        address = self.addresses.pop(uid, None)
        if address:
            self.fleet.command(f"remove {address}:{ENGINE_PORT}")

    def report(self, path, address, container, ready):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.plane.api("PATCH", f"{path}/status", {"status": {
            "phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "startTime": now,
            "conditions": [{"type": kind, "status": str(ready), "lastTransitionTime": now}
                           for kind in ("Ready", "ContainersReady")],
            "containerStatuses": [{"name": container, "ready": ready, "restartCount": 0, "image": "engine", "imageID": "",
                                   "state": {"running": {"startedAt": now}}}],
        }}, content_type="application/strategic-merge-patch+json")


def is_ready(pod):
    """None: nothing reported yet."""
    for condition in pod["status"].get("conditions", []):
        if condition["type"] == "Ready":
            return condition["status"] == "True"
    return None
