//go:build linux

package k8s_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	chart = root + "/charts/lessor"

	kedaNamespace  = "keda"
	metricsService = "keda-metrics-apiserver"
	metricsAPI     = "external.metrics.k8s.io"
	// hpaPeriod is how often the controller looks at an autoscaler: 15s unless
	// it is told otherwise.
	hpaPeriod = "5s"
	loopback  = "--bind-address=127.0.0.1"
)

// cluster is a control plane without nodes, with KEDA.
type cluster struct {
	keys       keys
	api        client
	kubeconfig string
}

// startServer runs an API server with KEDA's types until the test ends.
func startServer(t *testing.T) cluster {
	t.Helper()

	dir := t.TempDir()
	k := makeKeys(t, dir)
	etcd := startEtcd(t, dir)
	port := freePort(t)

	c := cluster{keys: k, api: newClient(t, "https://127.0.0.1:"+port, k), kubeconfig: filepath.Join(dir, "kubeconfig")}

	c.serve(t, port, etcd)
	c.writeKubeconfig(t)
	c.applyCRDs(t)

	return c
}

// startCluster runs all that is needed to scale until the test ends.
func startCluster(t *testing.T) cluster {
	t.Helper()

	c := startServer(t)

	c.start(t, "kube-controller-manager", nil, "--kubeconfig="+c.kubeconfig, loopback, "--secure-port=0", "--leader-elect=false",
		"--controllers=deployment-controller,replicaset-controller,horizontal-pod-autoscaler-controller",
		"--horizontal-pod-autoscaler-sync-period="+hpaPeriod)
	c.startKEDA(t)

	return c
}

func startEtcd(t *testing.T, dir string) string {
	t.Helper()

	binary, err := exec.LookPath("etcd")
	require.NoError(t, err, "install Debian's package etcd-server")

	clients, peers := "http://127.0.0.1:"+freePort(t), "http://127.0.0.1:"+freePort(t)
	p := start(t, dir, binary, nil, "--data-dir="+filepath.Join(dir, "etcd"), "--listen-client-urls="+clients, "--advertise-client-urls="+clients,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers, "--logger=zap", "--log-level=warn")

	p.await(t, func() bool { return answers(t, http.DefaultClient, clients+"/health") })

	return clients
}

func (c cluster) start(t *testing.T, name string, environ []string, args ...string) *process {
	t.Helper()

	return start(t, c.keys.dir, tool(t, name), environ, args...)
}

func (c cluster) serve(t *testing.T, port, etcd string) {
	t.Helper()

	tokens := filepath.Join(c.keys.dir, "tokens.csv")
	require.NoError(t, os.WriteFile(tokens, []byte(c.keys.token+`,admin,admin,"system:masters"`+"\n"), 0o600))

	p := c.start(t, "kube-apiserver", nil, loopback, "--secure-port="+port, "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--etcd-servers="+etcd, "--tls-cert-file="+c.keys.cert, "--tls-private-key-file="+c.keys.key, "--cert-dir="+c.keys.dir,
		"--client-ca-file="+c.keys.ca, "--token-auth-file="+tokens, "--authorization-mode=AlwaysAllow",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+c.keys.key,
		"--service-account-signing-key-file="+c.keys.key, "--service-cluster-ip-range=10.96.0.0/24",
		// What lets it pass requests on to KEDA's adapter.
		"--requestheader-client-ca-file="+c.keys.ca, "--requestheader-allowed-names="+commonName, "--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+c.keys.cert, "--proxy-client-key-file="+c.keys.key)

	p.await(t, func() bool { return answers(t, c.api.http, c.api.url+"/readyz") })
}

// writeKubeconfig writes the file that everybody else connects by.
func (c cluster) writeKubeconfig(t *testing.T) {
	t.Helper()

	// JSON is YAML.
	config, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []any{map[string]any{"name": "test", "cluster": map[string]any{"server": c.api.url, "certificate-authority": c.keys.ca}}},
		"users":    []any{map[string]any{"name": "test", "user": map[string]any{"token": c.keys.token}}},
		"contexts": []any{map[string]any{"name": "test", "context": map[string]any{"cluster": "test", "user": "test"}}},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(c.kubeconfig, config, 0o600))
}

// startKEDA runs operator and metrics adapter, and has the API server pass
// requests for external metrics on to the latter.
func (c cluster) startKEDA(t *testing.T) {
	t.Helper()

	health, metrics, adapter := freePort(t), freePort(t), freePort(t)
	environ := []string{
		"KUBECONFIG=" + c.kubeconfig, "POD_NAMESPACE=" + kedaNamespace, "KEDA_CLUSTER_OBJECT_NAMESPACE=" + kedaNamespace, "WATCH_NAMESPACE=",
		// What would come from the operator's role.
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_EC2_METADATA_DISABLED=true",
	}

	c.api.apply(t, "/api/v1/namespaces/"+kedaNamespace, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "`+kedaNamespace+`"}}`)

	operator := c.start(t, "keda-operator", environ, "--leader-elect=false", "--metrics-bind-address=0", "--cert-dir="+c.keys.dir,
		"--health-probe-bind-address=127.0.0.1:"+health, "--metrics-service-bind-address=127.0.0.1:"+metrics)
	operator.await(t, func() bool { return answers(t, http.DefaultClient, "http://127.0.0.1:"+health+"/readyz") })

	// Its port for metrics of its own cannot be bound to the loopback interface.
	p := c.start(t, "keda-adapter", environ, loopback, "--secure-port="+adapter, "--port=0", "--metrics-service-address=127.0.0.1:"+metrics,
		"--tls-cert-file="+c.keys.cert, "--tls-private-key-file="+c.keys.key, "--cert-dir="+c.keys.dir, "--client-ca-file="+c.keys.ca,
		"--lister-kubeconfig="+c.kubeconfig, "--authentication-kubeconfig="+c.kubeconfig, "--authorization-kubeconfig="+c.kubeconfig)

	// A name outside of the cluster needs no Endpoints, which refuse loopback.
	c.api.apply(t, "/api/v1/namespaces/"+kedaNamespace+"/services/"+metricsService,
		`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "`+metricsService+`"}, "spec": {"type": "ExternalName", "externalName": "127.0.0.1"}}`)

	authority, err := os.ReadFile(c.keys.ca)
	require.NoError(t, err)

	service, err := json.Marshal(map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]string{"name": "v1beta1." + metricsAPI},
		"spec": map[string]any{
			"group": metricsAPI, "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100, "caBundle": authority,
			"service": map[string]any{"namespace": kedaNamespace, "name": metricsService, "port": json.Number(adapter)},
		},
	})
	require.NoError(t, err)

	path := "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1." + metricsAPI
	c.api.apply(t, path, string(service))
	p.await(t, func() bool { return c.api.condition(t, path, "Available") })
}

// install installs the chart with helm, with files of values.
func (c cluster) install(t *testing.T, namespace string, values ...string) {
	t.Helper()

	// Neither what the user of this machine has set nor a cluster may count.
	run(t, []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, tool(t, "helm"), "install", "lessor", chart,
		"--kubeconfig", c.kubeconfig, "--namespace", namespace, "--create-namespace", "--values", strings.Join(values, ","))
}

// applyCRDs creates KEDA's types, from the files of the very version that runs.
func (c cluster) applyCRDs(t *testing.T) {
	t.Helper()

	module := strings.TrimSpace(run(t, os.Environ(), "go", "-C", root+"/tools/keda", "list", "-m", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2"))
	files, err := filepath.Glob(filepath.Join(module, "config", "crd", "bases", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)

	for _, file := range files {
		// The files are named GROUP_TYPES.yaml.
		group, types, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
		path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + types + "." + group

		definition, err := os.ReadFile(file)
		require.NoError(t, err)

		c.api.apply(t, path, string(definition))
		require.True(t, within(t, patience, func() bool { return c.api.condition(t, path, "Established") }), path)
	}
}
