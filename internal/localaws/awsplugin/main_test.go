package awsplugin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/lessor-dev/lessor/internal/localaws/awsplugin"
	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/internal/localaws/emulator/emulatortest"
)

func TestMain(m *testing.M) {
	// The engine's own logger never ends.
	os.Exit(emulatortest.Main(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon")))
}

const (
	region   = "us-east-1"
	patience = 5 * time.Second
	tick     = time.Millisecond
)

type props = map[string]any

// host plays the engine: it calls the provider as the engine does.
type host struct {
	*awsplugin.Provider

	t        *testing.T
	cloud    *cloudsim.Client
	endpoint string
	exits    chan int
}

// newHost starts a simulator, in front of emulator if that is not "".
func newHost(t *testing.T, emulator string, opts cloudsim.Options) *host {
	t.Helper()

	cloud := cloudsim.New(opts)
	mux := http.NewServeMux()
	mux.Handle(cloudsim.PathPrefix+"/", cloud.Handler())

	if emulator != "" {
		target, err := url.Parse(emulator)
		require.NoError(t, err)

		mux.Handle("/", &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport: &http.Transport{DisableKeepAlives: true},
		})
	}

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("X-Amz-Target"), cloudsim.TaggingTarget) {
			cloud.Handler().ServeHTTP(w, r)

			return
		}

		mux.ServeHTTP(w, r)
	}))
	h := &host{t: t, cloud: cloudsim.NewClient(server.URL, nil), endpoint: server.URL, exits: make(chan int, 1)}
	h.Provider = awsplugin.New(awsplugin.Options{Endpoint: server.URL, Exit: func(code int) { h.exits <- code }})

	t.Cleanup(func() {
		h.Provider.Close()
		cloud.Close()
		h.cloud.Close()
		server.Close()
	})

	return h
}

// httpClient is for clients of AWS that speak to the host's simulator.
func (h *host) httpClient() *http.Client {
	transport := &http.Transport{}
	h.t.Cleanup(transport.CloseIdleConnections)

	return &http.Client{Transport: transport}
}

func (h *host) configure(config props) error {
	_, err := h.Configure(h.t.Context(), &pulumirpc.ConfigureRequest{Args: h.pack(config)})

	return err
}

func configured(t *testing.T, emulator string, opts cloudsim.Options) *host {
	t.Helper()

	h := newHost(t, emulator, opts)
	require.NoError(t, h.configure(props{
		"region": region, "maxRetries": "2", "defaultTags": `{"tags":{"tenant-id":"acme","managed-by":"lessor"}}`,
	}))

	return h
}

func (h *host) pack(p props) *structpb.Struct {
	h.t.Helper()

	return h.marshal(resource.NewPropertyMapFromMap(p))
}

func (h *host) marshal(p resource.PropertyMap) *structpb.Struct {
	h.t.Helper()

	s, err := plugin.MarshalProperties(p, plugin.MarshalOptions{KeepUnknowns: true, KeepSecrets: true})
	require.NoError(h.t, err)

	return s
}

func (h *host) unpack(s *structpb.Struct) resource.PropertyMap {
	h.t.Helper()

	p, err := plugin.UnmarshalProperties(s, plugin.MarshalOptions{KeepUnknowns: true, KeepSecrets: true})
	require.NoError(h.t, err)

	return p
}

func urn(typ string) string { return "urn:pulumi:dev::lessor::" + typ + "::it" }

// checked runs Check and wants no failure.
func (h *host) checked(typ string, inputs props) *structpb.Struct {
	h.t.Helper()

	res, err := h.Check(h.t.Context(), &pulumirpc.CheckRequest{Urn: urn(typ), News: h.pack(inputs), RandomSeed: make([]byte, 32)})
	require.NoError(h.t, err)
	require.Empty(h.t, res.GetFailures())

	return res.GetInputs()
}

// made is a resource in the engine's state.
type made struct {
	typ    string
	id     string
	inputs *structpb.Struct
	state  *structpb.Struct
}

func (m made) output(h *host, name string) string {
	h.t.Helper()

	v := h.unpack(m.state)[resource.PropertyKey(name)]
	require.True(h.t, v.IsString(), "%s of %s is %v", name, m.typ, v)

	return v.StringValue()
}

func (h *host) tryCreate(ctx context.Context, typ string, inputs props) (made, error) {
	h.t.Helper()

	in := h.checked(typ, inputs) //nolint:contextcheck // a check is not what the test cancels

	res, err := h.Create(ctx, &pulumirpc.CreateRequest{Urn: urn(typ), Properties: in})

	return made{typ, res.GetId(), in, res.GetProperties()}, err
}

func (h *host) create(typ string, inputs props) made {
	h.t.Helper()

	m, err := h.tryCreate(h.t.Context(), typ, inputs)
	require.NoError(h.t, err)
	require.NotEmpty(h.t, m.id)

	return m
}

func (h *host) diff(m made, inputs props) *pulumirpc.DiffResponse {
	h.t.Helper()

	res, err := h.Diff(h.t.Context(), &pulumirpc.DiffRequest{
		Urn: urn(m.typ), Id: m.id, OldInputs: m.inputs, Olds: m.state, News: h.checked(m.typ, inputs),
	})
	require.NoError(h.t, err)

	return res
}

func (h *host) update(m made, inputs props) (made, error) {
	h.t.Helper()

	in := h.checked(m.typ, inputs)

	res, err := h.Update(h.t.Context(), &pulumirpc.UpdateRequest{
		Urn: urn(m.typ), Id: m.id, OldInputs: m.inputs, Olds: m.state, News: in,
	})

	return made{m.typ, m.id, in, res.GetProperties()}, err
}

func (h *host) refresh(m made) *pulumirpc.ReadResponse {
	h.t.Helper()

	res, err := h.Read(h.t.Context(), &pulumirpc.ReadRequest{Urn: urn(m.typ), Id: m.id, Inputs: m.inputs, Properties: m.state})
	require.NoError(h.t, err)

	return res
}

func (h *host) delete(m made) error {
	_, err := h.Delete(h.t.Context(), &pulumirpc.DeleteRequest{Urn: urn(m.typ), Id: m.id, Properties: m.state, OldInputs: m.inputs})

	return err
}

// steady wants a resource that neither a second up nor a refresh changes, and
// that an import finds as it is.
func (h *host) steady(m made, inputs props) {
	h.t.Helper()

	require.Equal(h.t, pulumirpc.DiffResponse_DIFF_NONE, h.diff(m, inputs).GetChanges(), "%s: no-change up", m.typ)

	read := h.refresh(m)
	require.Equal(h.t, m.id, read.GetId())
	require.JSONEq(h.t, h.json(m.inputs), h.json(read.GetInputs()), "%s: inputs after a refresh", m.typ)
	require.JSONEq(h.t, h.json(m.state), h.json(read.GetProperties()), "%s: state after a refresh", m.typ)

	for _, id := range append(otherIDs(m), m.id) {
		imported := h.refresh(made{typ: m.typ, id: id})
		require.Equal(h.t, m.id, imported.GetId(), "%s: import of %s", m.typ, id)
		require.JSONEq(h.t, h.json(m.inputs), h.json(imported.GetInputs()), "%s: import of %s", m.typ, id)
		require.JSONEq(h.t, h.json(m.state), h.json(imported.GetProperties()), "%s: import of %s", m.typ, id)

		// What a dead engine left is the inputs alone.
		adopted := h.refresh(made{typ: m.typ, id: id, inputs: m.inputs})
		require.JSONEq(h.t, h.json(m.inputs), h.json(adopted.GetInputs()), "%s: adoption of %s", m.typ, id)
		require.JSONEq(h.t, h.json(m.state), h.json(adopted.GetProperties()), "%s: adoption of %s", m.typ, id)
	}

	for _, id := range noIDs(m) {
		require.Empty(h.t, h.refresh(made{typ: m.typ, id: id, inputs: m.inputs}).GetId(), "%s: import of %s", m.typ, id)
	}
}

// otherIDs are import ids of a resource beside its own id, as its page in the
// Pulumi registry has them.
func otherIDs(m made) []string {
	switch m.typ {
	case cloudsim.TypeQueue, cloudsim.TypeQueuePolicy, cloudsim.TypeRedrivePolicy:
		_, name, _ := strings.Cut(m.id, cloudsim.Account)

		return []string{
			"https://sqs." + region + ".amazonaws.com/" + cloudsim.Account + name, "http://localhost:4566/" + cloudsim.Account + name,
		}
	case cloudsim.TypeCluster:
		_, name, _ := strings.Cut(m.id, ":cluster/")

		return []string{name}
	case cloudsim.TypeService:
		_, name, _ := strings.Cut(m.id, ":service/")

		return []string{name}
	case cloudsim.TypeVersioning, cloudsim.TypeEncryption, cloudsim.TypeLifecycle:
		return []string{m.id + "," + cloudsim.Account}
	default:
		return nil
	}
}

// noIDs are ids of nothing, in the form of the type.
func noIDs(m made) []string {
	return []string{m.id + "0", m.id + ",123456789012"}
}

func (h *host) json(s *structpb.Struct) string {
	h.t.Helper()

	raw, err := json.Marshal(s.AsMap())
	require.NoError(h.t, err)

	return string(raw)
}

// failed wants an error of which text is a part, in the real plugin's form.
func failed(t *testing.T, err error, text string) {
	t.Helper()

	require.Error(t, err)
	require.Contains(t, err.Error(), text)
	require.True(t, strings.HasPrefix(err.Error(), "1 error occurred:"), err.Error())
}
