"""A real control plane on loopback: etcd, kube-apiserver with the aggregation layer and RBAC, kube-controller-manager.

No kubelets; node.py plays them. Services get addresses of 127.96.0.0/16, which the aggregator dials itself, so a local
process that listens on a Service's address stands behind it. Everything lives in one temporary folder and ends with
the object: stop() is also called at exit, and the kernel kills the children of a harness that was killed itself.
Main thread only, but for api().
"""

import atexit
import base64
import ctypes
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from pathlib import Path

HOST = "127.64.0.1"
CONTROLLERS = (
    "serviceaccount serviceaccount-token namespace garbage-collector deployment replicaset statefulset job endpoints "
    "endpointslice horizontal-pod-autoscaler clusterrole-aggregation root-ca-certificate-publisher disruption"
)
OPENSSL_CONFIG = """
[req]
distinguished_name = dn
[dn]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
authorityKeyIdentifier = keyid
"""


def wait_until(what, condition, seconds, every=0.2):
    """Polls until condition() is true and returns its value; the last exception or value explains a timeout."""
    deadline, last = time.monotonic() + seconds, None
    while True:
        try:
            last = condition()
            if last:
                return last
        except (OSError, LookupError, AssertionError, http.client.HTTPException) as error:
            last = error
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}; last seen: {last!r}")
        time.sleep(every)


def free_port(host=HOST):
    with socket.socket() as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Process:
    """A child with its output in a log file. stop() gives the exit code."""

    def __init__(self, folder, name, command, **options):
        self.name, self.log = name, folder / f"{name}.log"
        with open(self.log, "ab") as log:
            options = {"stdin": subprocess.DEVNULL, "stdout": log, **options}
            self.child = subprocess.Popen(
                [str(part) for part in command], stderr=log, preexec_fn=die_with_parent, start_new_session=True, **options)

    def alive(self):
        return self.child.poll() is None

    def stop(self, sig=signal.SIGTERM, seconds=15):
        if self.alive():
            self.child.send_signal(sig)
            try:
                return self.child.wait(seconds)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
                raise AssertionError(f"{self.name} did not end within {seconds} s of {sig.name}") from None
        return self.child.returncode


class ControlPlane:
    def __init__(self, assets, keep_logs_in):
        self.assets, self.keep_logs_in = Path(assets), Path(keep_logs_in)
        self.folder = Path(tempfile.mkdtemp(prefix="loadline-e2e-"))
        self.processes = {}  # in the order of their start
        self.stopped = False
        atexit.register(self.stop)

    # --- keys ---------------------------------------------------------------------------------------------------

    def openssl(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, cwd=self.folder)

    def certificate(self, name, subject, ca=None, names=""):
        """Makes NAME.crt and NAME.key; without ca: a certificate authority."""
        signer = ["-CA", f"{ca}.crt", "-CAkey", f"{ca}.key", "-extensions", "leaf"] if ca else ["-extensions", "ca"]
        also = ["-addext", f"subjectAltName={names}"] if names else []
        self.openssl("req", "-x509", "-config", "openssl.cnf", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-days", 2, "-subj", subject, "-keyout", f"{name}.key", "-out", f"{name}.crt", *signer, *also)

    def kubeconfig(self, name, **user):
        """Writes NAME.kubeconfig for a user of kubeconfig fields (a token, or NAME.crt when none are given)."""
        user = user or {"client-certificate": str(self.folder / f"{name}.crt"), "client-key": str(self.folder / f"{name}.key")}
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": {
                "server": f"https://{HOST}:{self.port}",
                "certificate-authority-data": base64.b64encode((self.folder / "ca.crt").read_bytes()).decode()}}],
            "users": [{"name": "e2e", "user": user}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}]}))
        return path

    def client_certificate(self, name, subject, ca="ca"):
        self.certificate(name, subject, ca)
        return self.kubeconfig(name)

    # --- processes ----------------------------------------------------------------------------------------------

    def start(self):
        (self.folder / "openssl.cnf").write_text(OPENSSL_CONFIG)
        self.port, self.etcd_port, peer = free_port(), free_port(), free_port()
        for ca in ("ca", "front-proxy-ca"):
            self.certificate(ca, f"/CN=e2e-{ca}")
        self.certificate("apiserver", "/CN=kube-apiserver", "ca", f"IP:{HOST},DNS:localhost,DNS:kubernetes.default.svc")
        self.certificate("front-proxy-client", "/CN=front-proxy-client", "front-proxy-ca")
        self.client_certificate("admin", "/O=system:masters/CN=admin")
        self.client_certificate("controllers", "/CN=system:kube-controller-manager")
        self.openssl("genrsa", "-out", "sa.key", 2048)
        etcd = f"http://{HOST}:{self.etcd_port}"
        self.run("etcd", self.assets / "etcd", "--data-dir", self.folder / "etcd", "--listen-client-urls", etcd,
                 "--advertise-client-urls", etcd, "--listen-peer-urls", f"http://{HOST}:{peer}", "--logger=zap")
        self.start_apiserver()
        self.run("kube-controller-manager", self.assets / "kube-controller-manager", "--leader-elect=false", "--secure-port=0",
                 f"--kubeconfig={self.folder}/controllers.kubeconfig", "--use-service-account-credentials=true",
                 f"--service-account-private-key-file={self.folder}/sa.key", f"--root-ca-file={self.folder}/ca.crt",
                 "--controllers=" + ",".join(f"{name}-controller" for name in CONTROLLERS.split()),
                 "--horizontal-pod-autoscaler-sync-period=5s", "--horizontal-pod-autoscaler-downscale-stabilization=5s",
                 "--kube-api-qps=200", "--kube-api-burst=400")
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        wait_until("the default service account is there", lambda: self.api("GET", account)[0] == 200, 60)

    def start_apiserver(self):
        """The request timeout is also how long a graceful stop waits for open watches."""
        path = self.folder
        self.run("kube-apiserver", self.assets / "kube-apiserver", f"--etcd-servers=http://{HOST}:{self.etcd_port}",
                 f"--bind-address={HOST}", f"--advertise-address={HOST}", f"--secure-port={self.port}",
                 f"--tls-cert-file={path}/apiserver.crt", f"--tls-private-key-file={path}/apiserver.key",
                 f"--client-ca-file={path}/ca.crt", "--authorization-mode=RBAC", "--request-timeout=10s", "--endpoint-reconciler-type=none",
                 f"--requestheader-client-ca-file={path}/front-proxy-ca.crt",
                 "--requestheader-allowed-names=front-proxy-client", "--requestheader-username-headers=X-Remote-User",
                 "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                 f"--proxy-client-cert-file={path}/front-proxy-client.crt",
                 f"--proxy-client-key-file={path}/front-proxy-client.key", "--enable-aggregator-routing=false",
                 "--service-cluster-ip-range=127.96.0.0/16", f"--service-account-key-file={path}/sa.key",
                 f"--service-account-signing-key-file={path}/sa.key",
                 "--service-account-issuer=https://kubernetes.default.svc.cluster.local")

        def ready():
            assert self.processes["kube-apiserver"].alive(), self.processes["kube-apiserver"].log.read_text()[-2000:]
            return self.api("GET", "/readyz")[0] == 200
        wait_until("kube-apiserver is ready", ready, 60)

    def run(self, name, *command, **options):
        self.processes[name] = Process(self.folder, name, command, **options)
        return self.processes[name]

    def stop(self, keep_logs=False):
        if self.stopped:
            return
        self.stopped = True
        for process in reversed(self.processes.values()):
            process.stop(signal.SIGKILL)  # their data goes too
        if keep_logs:
            shutil.rmtree(self.keep_logs_in, ignore_errors=True)
            self.keep_logs_in.mkdir(parents=True)
            for log in self.folder.glob("*.log"):
                shutil.copy(log, self.keep_logs_in)
            print(f"logs kept in {self.keep_logs_in}")
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- clients ------------------------------------------------------------------------------------------------

    def client(self, program, *arguments, user="admin", check=True):
        environment = {**os.environ, "HOME": str(self.folder), "KUBECONFIG": str(self.folder / f"{user}.kubeconfig")}
        done = subprocess.run([str(part) for part in (program, *arguments)], capture_output=True, text=True, timeout=90,
                              env=environment)
        assert done.returncode == 0 or not check, f"{Path(program).name} {' '.join(map(str, arguments))}: {done.stderr}"
        return done

    def kubectl(self, *arguments, **options):
        return self.client(self.assets / "kubectl", *arguments, **options)

    def api(self, method, path, body=None, content_type="application/json"):
        """One request as admin: (status, decoded body or text). Any thread."""
        return https(method, f"{HOST}:{self.port}", path, ca=self.folder / "ca.crt",
                     certificate=self.folder / "admin", body=body, headers={"Content-Type": content_type})


def https(method, address, path, ca, server_name=None, certificate=None, body=None, headers=None):
    """One request on a connection of its own: (status, decoded JSON or text). certificate: its path without .crt."""
    context = ssl.create_default_context(cafile=str(ca))
    if certificate:
        context.load_cert_chain(f"{certificate}.crt", f"{certificate}.key")
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPSConnection(host, int(port), timeout=10, context=context)
    raw = socket.create_connection((host, int(port)), timeout=10)
    try:
        connection.sock = context.wrap_socket(raw, server_hostname=server_name or host)
        connection.request(method, path, json.dumps(body) if body is not None else None, headers or {})
        response = connection.getresponse()
        text = response.read().decode()
        return response.status, json.loads(text) if "json" in response.headers.get("Content-Type", "") else text
    finally:
        connection.close()
        raw.close()
