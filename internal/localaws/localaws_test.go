package localaws_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws"
)

// binDir is where `make tools` builds to; tests run in their package's folder.
func binDir() string { return filepath.Join("..", "..", ".bin") }

// local is a running environment with clients that are made from nothing but
// its variables.
type local struct {
	env       *localaws.Env
	dir       string
	variables map[string]string
	aws       aws.Config
}

func start(t *testing.T, change func(*localaws.Options)) local {
	t.Helper()

	if testing.Short() {
		t.Skip("local mode starts processes")
	}

	options := localaws.Options{BinDir: binDir(), Dir: t.TempDir()}
	if change != nil {
		change(&options)
	}

	env, err := localaws.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })

	variables := map[string]string{}

	for _, variable := range env.Environ() {
		name, value, found := strings.Cut(variable, "=")
		require.True(t, found, variable)

		variables[name] = value
	}

	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)

	return local{env: env, dir: options.Dir, variables: variables, aws: aws.Config{
		Region:       variables["AWS_REGION"],
		BaseEndpoint: aws.String(variables["AWS_ENDPOINT_URL"]),
		HTTPClient:   &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider(
			variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"], "",
		),
	}}
}

func TestStartDeploysThePlatform(t *testing.T) {
	t.Parallel()

	l := start(t, nil)

	for name, check := range map[string]func(*testing.T, local){
		"queue with redrive":       checkQueues,
		"table":                    checkTable,
		"versioned buckets":        checkBuckets,
		"key":                      checkKey,
		"requests are counted":     checkCounts,
		"simulator":                checkSimulator,
		"variables of the machine": checkPaths,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, l)
		})
	}
}

func checkCounts(t *testing.T, l local) {
	t.Helper()

	for _, service := range []string{"sqs", "dynamodb", "s3", "kms"} {
		require.Positive(t, l.env.Requests()[service], service)
	}
}

func checkSimulator(t *testing.T, l local) {
	t.Helper()

	_, err := l.env.Cloud().Faults(t.Context())
	require.NoError(t, err)
}

func checkPaths(t *testing.T, l local) {
	t.Helper()

	require.FileExists(t, l.variables["LESSOR_PULUMI"])
	require.DirExists(t, l.variables["LESSOR_PLUGIN_DIR"])
	require.DirExists(t, l.variables["LESSOR_WORK_DIR"])
	require.Equal(t, "127.0.0.1:0", l.variables["LESSOR_ADMIN_ADDRESS"])
}

func checkQueues(t *testing.T, l local) {
	t.Helper()

	client := sqs.NewFromConfig(l.aws)
	attributes := func(variable string) map[string]string {
		require.True(t, strings.HasPrefix(l.variables[variable], l.env.URL()+"/"), l.variables[variable])

		out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl:       aws.String(l.variables[variable]),
			AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
		})
		require.NoError(t, err)

		return out.Attributes
	}

	dead := attributes("LESSOR_DEAD_LETTER_QUEUE_URL")
	require.Equal(t, "1209600", dead["MessageRetentionPeriod"])

	events := attributes("LESSOR_QUEUE_URL")
	require.Equal(t, "20", events["ReceiveMessageWaitTimeSeconds"])
	require.Equal(t, "120", events["VisibilityTimeout"])

	var redrive struct {
		Target string      `json:"deadLetterTargetArn"`
		Max    json.Number `json:"maxReceiveCount"`
	}

	require.NoError(t, json.Unmarshal([]byte(events["RedrivePolicy"]), &redrive))
	require.Equal(t, dead["QueueArn"], redrive.Target)
	require.Equal(t, json.Number("100"), redrive.Max)
}

func checkTable(t *testing.T, l local) {
	t.Helper()

	out, err := dynamodb.NewFromConfig(l.aws).DescribeTable(t.Context(), &dynamodb.DescribeTableInput{
		TableName: aws.String(l.variables["LESSOR_TABLE"]),
	})
	require.NoError(t, err)
	require.Equal(t, []dynamodbtypes.KeySchemaElement{
		{AttributeName: aws.String("pk"), KeyType: dynamodbtypes.KeyTypeHash},
	}, out.Table.KeySchema)
}

func checkBuckets(t *testing.T, l local) {
	t.Helper()

	client := s3.NewFromConfig(l.aws, func(o *s3.Options) { o.UsePathStyle = true })
	buckets := strings.Split(l.variables["LESSOR_STATE_BUCKETS"], ",")
	require.Len(t, buckets, 2)

	for _, bucket := range buckets {
		out, err := client.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: aws.String(bucket)})
		require.NoError(t, err)
		require.Equal(t, s3types.BucketVersioningStatusEnabled, out.Status, bucket)
	}
}

func checkKey(t *testing.T, l local) {
	t.Helper()

	provider, err := url.Parse(l.variables["LESSOR_SECRETS_PROVIDER"])
	require.NoError(t, err)
	require.Equal(t, "awskms", provider.Scheme)
	require.Equal(t, url.Values{"region": {"us-east-1"}}, provider.Query(), "it is stored in state, so it has no endpoint")

	client := kms.NewFromConfig(l.aws)
	sealed, err := client.Encrypt(t.Context(), &kms.EncryptInput{
		KeyId: aws.String(strings.TrimPrefix(provider.Path, "/")), Plaintext: []byte("data key"),
	})
	require.NoError(t, err)

	opened, err := client.Decrypt(t.Context(), &kms.DecryptInput{CiphertextBlob: sealed.CiphertextBlob})
	require.NoError(t, err)
	require.Equal(t, "data key", string(opened.Plaintext))
}

func TestStopLeavesNothing(t *testing.T) {
	t.Parallel()

	l := start(t, nil)
	if runtime.GOOS == "linux" {
		require.NotEmpty(t, processesOf(t, l.dir), "the emulator's log is open")
	}

	require.NoError(t, l.env.Stop())
	require.NoError(t, l.env.Stop(), "it may be called again")
	require.Empty(t, processesOf(t, l.dir))

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.env.URL()+"/health", http.NoBody)
	require.NoError(t, err)

	res, err := http.DefaultClient.Do(req)
	if err == nil {
		require.NoError(t, res.Body.Close())
	}

	require.Error(t, err, "nothing listens any more")
}

// processesOf lists the other processes that have a file below dir open, work
// there, or have it in their environment.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()

	var found []string

	processes, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)

	for _, process := range processes {
		if uses(process, dir) {
			found = append(found, process)
		}
	}

	return found
}

func uses(process, dir string) bool {
	if own, err := os.Readlink("/proc/self"); err == nil && filepath.Base(process) == own {
		return false
	}

	environ, err := os.ReadFile(filepath.Join(process, "environ"))
	if err == nil && strings.Contains(string(environ), dir) {
		return true
	}

	links, err := filepath.Glob(filepath.Join(process, "fd", "*"))
	if err != nil {
		return false
	}

	for _, link := range append(links, filepath.Join(process, "cwd")) {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, dir) {
			return true
		}
	}

	return false
}

func TestStartIgnoresRealCredentials(t *testing.T) {
	if testing.Short() {
		t.Skip("local mode starts processes")
	}

	profile := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(profile, []byte("[profile prod]\nregion = eu-north-1\nendpoint_url = http://192.0.2.1:1\n"), 0o600))
	t.Setenv("AWS_CONFIG_FILE", profile)
	t.Setenv("AWS_PROFILE", "prod")
	t.Setenv("AWS_ENDPOINT_URL_SQS", "http://192.0.2.1:1")
	t.Setenv("AWS_ENDPOINT_URL_KMS", "http://192.0.2.1:1")
	t.Setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
	t.Setenv("PULUMI_CONFIG_PASSPHRASE_FILE", filepath.Join(t.TempDir(), "missing"))

	env, err := localaws.Start(t.Context(), localaws.Options{BinDir: binDir(), Dir: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, env.Stop())
}

func TestStartReplacesAFormerRun(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("local mode starts processes")
	}

	options := localaws.Options{BinDir: binDir(), Dir: t.TempDir()}
	for range 2 {
		env, err := localaws.Start(t.Context(), options)
		require.NoError(t, err)
		require.NoError(t, env.Stop())
	}
}

func TestInterceptStandsBeforeTheEmulator(t *testing.T) {
	t.Parallel()

	l := start(t, func(o *localaws.Options) {
		o.Intercept = func(emulator http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PurgeQueue") {
					http.Error(w, "refused", http.StatusForbidden)

					return
				}

				emulator.ServeHTTP(w, r)
			})
		}
	})

	_, err := sqs.NewFromConfig(l.aws).PurgeQueue(t.Context(), &sqs.PurgeQueueInput{
		QueueUrl: aws.String(l.variables["LESSOR_QUEUE_URL"]),
	})
	require.ErrorContains(t, err, "403")
}

func TestStartNamesWhatIsMissing(t *testing.T) {
	t.Parallel()

	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "kumo"), []byte("not a program"), 0o600))

	_, err := localaws.Start(t.Context(), localaws.Options{BinDir: bin, Dir: t.TempDir(), Log: io.Discard})
	require.ErrorIs(t, err, localaws.ErrNotBuilt)
	require.ErrorContains(t, err, "make tools")

	for _, binary := range []string{"pulumi", "kumo", "pulumi-resource-aws"} {
		require.ErrorContains(t, err, binary)
	}
}

func TestStartNeedsADirectory(t *testing.T) {
	t.Parallel()

	_, err := localaws.Start(t.Context(), localaws.Options{BinDir: t.TempDir()})
	require.ErrorContains(t, err, "directory")
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("local mode starts processes")
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	dir := t.TempDir()
	_, err := localaws.Start(ctx, localaws.Options{BinDir: binDir(), Dir: dir})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, processesOf(t, dir))
}
