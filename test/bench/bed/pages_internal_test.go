package bed

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

// wholeTable answers every Scan with the same rows, as the stand-in does.
type wholeTable struct {
	rows  int
	asked []string
}

func (w *wholeTable) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || int64(len(body)) != r.ContentLength {
		http.Error(rw, "the length is wrong", http.StatusBadRequest)

		return
	}

	w.asked = append(w.asked, string(body))

	out := scanOutput{}
	for i := range w.rows {
		out.Items = append(out.Items, json.RawMessage(fmt.Sprintf(`{"pk":{"S":"row-%d"},"n":{"N":"%d"}}`, i, i)))
	}

	_ = json.NewEncoder(rw).Encode(out)
}

func scan(t *testing.T, p *pages, in scanInput, attempt string) scanOutput {
	t.Helper()

	body, err := json.Marshal(in)
	require.NoError(t, err)

	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(string(body)))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.Scan")
	r.Header.Set("Amz-Sdk-Request", attempt)

	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, r)
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)

	var out scanOutput
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &out))

	return out
}

func TestScansAreAnsweredInPages(t *testing.T) {
	t.Parallel()

	const first, again = "attempt=1; max=3", "ttl=x; attempt=2; max=3"

	table := &wholeTable{rows: 7}
	b := &Bed{pages: newPages(table)}
	b.PageScans("rows", 3)

	in := scanInput{TableName: "rows", ProjectionExpression: "pk, n"}

	var (
		sizes []int
		seen  []string
	)

	for {
		out := scan(t, b.pages, in, first)
		require.Equal(t, len(out.Items), out.Count)

		sizes = append(sizes, out.Count)
		for _, item := range out.Items {
			seen = append(seen, string(item))
		}

		if out.LastEvaluatedKey == nil {
			break
		}

		in.ExclusiveStartKey = out.LastEvaluatedKey
	}

	require.Equal(t, []int{3, 3, 1}, sizes)
	require.Len(t, seen, 7)

	for i, row := range seen {
		require.JSONEq(t, fmt.Sprintf(`{"pk":{"S":"row-%d"},"n":{"N":"%d"}}`, i, i), row)
	}

	require.Equal(t, 3, b.PagesAsked("rows"))
	require.Len(t, table.asked, 1, "the stand-in is asked once")

	require.Len(t, scan(t, b.pages, in, again).Items, 1)
	require.Equal(t, 3, b.PagesAsked("rows"), "what the SDK asks for again is no page more")

	// Other attributes are another answer, and a limit must not cut that short.
	limited := scanInput{TableName: "rows", Limit: 2}
	require.Len(t, scan(t, b.pages, limited, first).Items, 2)
	require.Len(t, table.asked, 2)
	require.JSONEq(t, `{"TableName":"rows"}`, table.asked[1])
	require.Equal(t, 4, b.PagesAsked("rows"))

	require.Len(t, scan(t, b.pages, scanInput{TableName: "other"}, first).Items, 7, "other tables are left alone")
	require.Zero(t, b.PagesAsked("other"))
}

func TestRowSize(t *testing.T) {
	t.Parallel()

	size, err := RowSize(Row{
		"pk":  &types.AttributeValueMemberS{Value: "tenänt"}, // 2 + 7
		"n":   &types.AttributeValueMemberN{Value: "12345"},  // 1 + 3 + 1
		"yes": &types.AttributeValueMemberBOOL{Value: true},  // 3 + 1
	})
	require.NoError(t, err)
	require.Equal(t, 18, size)

	_, err = RowSize(Row{"list": &types.AttributeValueMemberL{}})
	require.ErrorIs(t, err, errNoSize)
}

func TestRenamed(t *testing.T) {
	t.Parallel()

	row := Row{"pk": &types.AttributeValueMemberS{Value: "tenant#a"}, "n": &types.AttributeValueMemberN{Value: "1"}}
	renamed := Renamed(row, func(text string) string { return strings.ReplaceAll(text, "#a", "#b") })

	require.Equal(t, &types.AttributeValueMemberS{Value: "tenant#b"}, renamed["pk"])
	require.Equal(t, row["n"], renamed["n"])
	require.Equal(t, &types.AttributeValueMemberS{Value: "tenant#a"}, row["pk"], "the original stays")
}
