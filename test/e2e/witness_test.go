package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/internal/localaws/serving"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// now is the simulator's clock, and that of what the tests compare with it.
var now = cloudsim.Clock() //nolint:gochecknoglobals // never changes

// sighting is a write of a tenant's outputs. Whoever read the row between Asked
// and Answered got either these outputs or those before.
type sighting struct {
	Asked, Answered time.Time
	Outputs         map[string]json.RawMessage
}

// witness sees the writes of all rows on their way to the emulator.
type witness struct {
	mu   sync.Mutex
	seen map[tenant.ID][]sighting
}

var outputs = &witness{seen: map[tenant.ID][]sighting{}} //nolint:gochecknoglobals // of the one environment

func (w *witness) watch(emulator http.Handler) http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
			emulator.ServeHTTP(answer, r)

			return
		}

		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)

			return
		}

		r.Body = io.NopCloser(bytes.NewReader(body))
		id, written, ok := outputsIn(body)
		status := &statusOf{ResponseWriter: answer}
		asked := now()

		emulator.ServeHTTP(status, r)

		if ok && status.code == http.StatusOK {
			w.add(id, sighting{Asked: asked, Answered: now(), Outputs: written})
		}
	})
}

func (w *witness) add(id tenant.ID, s sighting) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.seen[id] = append(w.seen[id], s)
}

func (w *witness) of(id tenant.ID) []sighting {
	w.mu.Lock()
	defer w.mu.Unlock()

	return slices.Clone(w.seen[id])
}

// outputsIn reads the outputs that an update of a tenant's row writes.
func outputsIn(body []byte) (id tenant.ID, written map[string]json.RawMessage, ok bool) {
	type text struct {
		S string `json:"S"`
	}

	var update struct {
		Key    map[string]text `json:"Key"`
		Values map[string]text `json:"ExpressionAttributeValues"`
	}

	// Other values have other forms, which leaves theirs empty.
	_ = json.Unmarshal(body, &update)

	name, isTenant := strings.CutPrefix(update.Key["pk"].S, "tenant#")
	document, writes := update.Values[":outputs"]

	return tenant.ID(name), written, isTenant && writes && json.Unmarshal([]byte(document.S), &written) == nil
}

type statusOf struct {
	http.ResponseWriter

	code int
}

func (s *statusOf) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

func (s *statusOf) Write(p []byte) (int, error) {
	if s.code == 0 {
		s.code = http.StatusOK
	}

	return s.ResponseWriter.Write(p)
}

// gaps are the times since then in which someone who follows the tenant's outputs
// found nothing that serves.
func (f *fleet) gaps(id tenant.ID, since time.Time) []serving.Gap {
	f.t.Helper()

	journal, err := local.Cloud().Journal(f.t.Context(), id.String())
	require.NoError(f.t, err)

	var named []serving.Naming

	served, seen := map[string]serving.Spans{}, outputs.of(id)

	for i, s := range seen {
		topology := fmt.Sprintf("%d: %s", i, s.Outputs["isolation"])
		naming := serving.Naming{Topology: topology, Span: serving.Span{From: s.Asked, To: journal.Now}}

		if i+1 < len(seen) {
			naming.To = seen[i+1].Answered
		}

		// A suspended tenant is served by nobody.
		if named = append(named, naming); !naming.To.After(since) || string(s.Outputs["serving"]) == "false" {
			continue
		}

		served[topology], err = serving.Times(journal, s.Outputs)
		require.NoError(f.t, err, topology)
	}

	return serving.Gaps(serving.Span{From: since, To: journal.Now}, named, served)
}

// uninterrupted checks that the tenant was served all the time.
func (f *fleet) uninterrupted(id tenant.ID, since time.Time) {
	f.t.Helper()
	require.Empty(f.t, f.gaps(id, since), "nothing served %s", id)
}
