package inventory_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/inventory"
)

const assumed = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>OFTHEROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`

// A look with a role is signed with the role's credentials, and those are
// fetched with one's own.
func TestLookWithARole(t *testing.T) {
	t.Parallel()

	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, credential, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		who, _, _ := strings.Cut(credential, "/")
		body, _ := io.ReadAll(r.Body)

		if r.Header.Get("X-Amz-Target") != "" {
			asked <- who + " GetResources"

			_, _ = io.WriteString(w, `{"PaginationToken": "", "ResourceTagMappingList": []}`)

			return
		}

		form, _ := url.ParseQuery(string(body))
		asked <- who + " " + form.Get("Action") + " " + form.Get("RoleArn")

		_, _ = io.WriteString(w, assumed)
	}))
	transport := &http.Transport{}

	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})

	own := aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("MYOWN", "b", ""),
	}

	_, err := inventory.Open(inventory.Assume(own, "arn:aws:iam::1:role/tenants"), "eu-west-1").Find(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, "MYOWN AssumeRole arn:aws:iam::1:role/tenants", <-asked)
	require.Equal(t, "OFTHEROLE GetResources", <-asked)

	_, err = inventory.Open(inventory.Assume(own, ""), "eu-west-1").Find(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, "MYOWN GetResources", <-asked)
	require.Empty(t, asked)
}
