package chaos_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// world is all that is left when the dust has settled, read by nobody's leave:
// no code of the workers says what is in it, but for the decoding of rows.
type world struct {
	subjects []*subject
	rows     map[tenant.ID]tenant.Record
	stacks   []stack
	cloud    []cloudsim.Resource
	// emulated are the names of queues and buckets of tenants in the emulator.
	emulated []string
	locks    []string
	journal  map[string][]write
	// newest are the ETags of the checkpoints that are in the buckets.
	newest    map[string]string
	queued    int
	letters   []string
	scripted  []string
	processes []string
	files     []string
	unclean   []string
	// operations are what the workers' logs tell, in the order of time.
	operations []operation
	freezes    []freeze
}

// stack is a checkpoint as it is in its bucket and as the plain CLI sees it.
type stack struct {
	shard, project, name string
	key                  string
	resources            []stateResource
	pending              []string
	// trouble is what is wrong with it.
	trouble string
}

// stateResource is what a checkpoint says of a resource of the cloud.
type stateResource struct {
	URN    string `json:"urn"`
	Type   string `json:"type"`
	ID     string `json:"id"`
	Custom bool   `json:"custom"`
}

func (r stateResource) cloud() bool {
	return r.Custom && !strings.HasPrefix(r.Type, "pulumi:") && r.ID != ""
}

type deployment struct {
	Resources []stateResource `json:"resources"`
	Pending   []struct {
		Resource stateResource `json:"resource"`
		Type     string        `json:"type"`
	} `json:"pending_operations"`
}

// operation is a run of the engine by the workers' logs.
type operation struct {
	tenant     string
	id         string
	fence      int64
	worker     int
	start, end time.Time
	// kind is "" for success, and "?" where nobody lived to tell.
	kind string
}

// observe reads everything. Invalid messages are named by the body that was sent.
func observe(ctx context.Context, f *fleet, fr *front, flow *traffic) (*world, error) {
	w := &world{subjects: flow.subjects, rows: map[tenant.ID]tenant.Record{}, journal: fr.journal(), newest: map[string]string{}}

	for _, d := range flow.deliveries {
		if d.invalid {
			w.scripted = append(w.scripted, string(d.body))
		}
	}

	if err := f.rows.List(ctx, func(rec tenant.Record) bool {
		w.rows[rec.ID] = rec

		return true
	}); err != nil {
		return nil, err
	}

	for _, read := range []func(context.Context, *fleet) error{
		w.readState, w.askCLI, w.readCloud, w.readEmulator, w.readQueues, w.readMachine, w.readLogs,
	} {
		if err := read(ctx, f); err != nil {
			return nil, err
		}
	}

	return w, nil
}

const (
	stackPrefix = ".pulumi/stacks/"
	lockPrefix  = ".pulumi/locks/"
)

// readState reads every checkpoint of every bucket, and the locks.
func (w *world) readState(ctx context.Context, f *fleet) error {
	client := s3.NewFromConfig(f.aws, func(o *s3.Options) { o.UsePathStyle = true })

	for _, shard := range f.shards {
		pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: aws.String(shard), Prefix: aws.String(".pulumi/")})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return fmt.Errorf("listing %s: %w", shard, err)
			}

			for _, object := range page.Contents {
				key := aws.ToString(object.Key)

				switch {
				case strings.HasPrefix(key, lockPrefix):
					w.locks = append(w.locks, shard+"/"+key)
				case strings.HasPrefix(key, stackPrefix) && strings.HasSuffix(key, ".json"):
					w.newest[shard+"/"+key] = aws.ToString(object.ETag)

					s, err := readStack(ctx, client, shard, key)
					if err != nil {
						return err
					}

					w.stacks = append(w.stacks, s)
				}
			}
		}
	}

	return nil
}

func readStack(ctx context.Context, client *s3.Client, shard, key string) (stack, error) {
	project, name, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(key, stackPrefix), ".json"), "/")
	s := stack{shard: shard, project: project, name: name, key: shard + "/" + key}

	object, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(shard), Key: aws.String(key)})
	if err != nil {
		return s, fmt.Errorf("reading %s: %w", s.key, err)
	}
	defer object.Body.Close()

	body, err := io.ReadAll(object.Body)
	if err != nil {
		return s, fmt.Errorf("reading %s: %w", s.key, err)
	}

	var file struct {
		Checkpoint struct {
			Latest deployment `json:"latest"`
		} `json:"checkpoint"`
	}

	if err := json.Unmarshal(body, &file); err != nil {
		s.trouble = fmt.Sprintf("the checkpoint cannot be read: %v", err)

		return s, nil
	}

	s.resources = slices.DeleteFunc(file.Checkpoint.Latest.Resources, func(r stateResource) bool { return !r.cloud() })
	for _, p := range file.Checkpoint.Latest.Pending {
		s.pending = append(s.pending, p.Type+" "+p.Resource.URN)
	}

	return s, nil
}

// askCLI has the plain CLI, without a worker or a gateway, read every stack: it
// refuses a state that is not whole, and lists what it finds.
func (w *world) askCLI(ctx context.Context, f *fleet) error {
	home := filepath.Join(f.dir, "plain")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}

	environ := append(f.local.Environ(), "PATH="+os.Getenv("PATH"), "HOME="+home, "PULUMI_HOME="+home,
		"PULUMI_SKIP_UPDATE_CHECK=true", "PULUMI_DIY_BACKEND_NO_LEGACY_WARNING=true", "NO_COLOR=1")

	var (
		wait  sync.WaitGroup
		slots = make(chan struct{}, 3)
	)

	for i := range w.stacks {
		s := &w.stacks[i]

		slots <- struct{}{}

		wait.Go(func() {
			defer func() { <-slots }()

			backend := "PULUMI_BACKEND_URL=" + plainBackend(f, s.shard)
			ask := func(args ...string) ([]byte, error) {
				cmd := exec.CommandContext(ctx, filepath.Join(root(), ".bin", "pulumi"),
					append(args, "--non-interactive", "--stack", "organization/"+s.project+"/"+s.name)...)
				cmd.Env = append(slices.Clone(environ), backend)
				cmd.Dir = home

				return cmd.CombinedOutput()
			}

			// "stack" loads and verifies the state, "stack export" only copies it.
			if out, err := ask("stack"); err != nil {
				s.complainf("pulumi stack: %v: %s", err, out)
			}

			out, err := ask("stack", "export")
			if err != nil {
				s.complainf("pulumi stack export: %v: %s", err, out)

				return
			}

			var exported struct {
				Deployment deployment `json:"deployment"`
			}

			if err := json.Unmarshal(out[max(0, bytes.IndexByte(out, '{')):], &exported); err != nil {
				s.complainf("pulumi stack export: %v", err)

				return
			}

			seen := slices.DeleteFunc(exported.Deployment.Resources, func(r stateResource) bool { return !r.cloud() })
			if !slices.Equal(seen, s.resources) {
				s.complainf("pulumi stack export has %d resources, and the checkpoint %d", len(seen), len(s.resources))
			}
		})
	}

	wait.Wait()

	return ctx.Err()
}

func (s *stack) complainf(format string, args ...any) {
	s.trouble = strings.TrimSpace(s.trouble + " " + strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "))
}

// plainBackend is the URL that people use at the plain CLI.
func plainBackend(f *fleet, shard string) string {
	url := engine.BackendURL(tenant.Stack{Shard: shard}, region)
	if strings.Contains(url, "endpoint=") {
		return url
	}

	return url + "&endpoint=" + f.local.URL() + "&use_path_style=true&response_checksum_validation=when_required&disable_https=true"
}

// readCloud lists what the simulator holds of tenants, without what is only
// waited for to be gone for good.
func (w *world) readCloud(ctx context.Context, f *fleet) error {
	all, err := f.local.Cloud().List(ctx, cloudsim.Filter{})
	if err != nil {
		return err
	}

	for _, r := range all {
		if r.State != cloudsim.StateDeleting && !f.platform[placeOf(r.Type, r.ID)] {
			w.cloud = append(w.cloud, r)
		}
	}

	return nil
}

// placeOf names a resource: all are in one region.
func placeOf(kind, id string) string { return kind + " " + id }

func (w *world) readEmulator(ctx context.Context, f *fleet) error {
	buckets, err := s3.NewFromConfig(f.aws, func(o *s3.Options) { o.UsePathStyle = true }).ListBuckets(ctx, &s3.ListBucketsInput{})
	if err != nil {
		return err
	}

	for _, b := range buckets.Buckets {
		if name := aws.ToString(b.Name); strings.HasPrefix(name, source+"-") {
			w.emulated = append(w.emulated, placeOf(cloudsim.TypeBucket, name))
		}
	}

	queues, err := sqs.NewFromConfig(f.aws).ListQueues(ctx, &sqs.ListQueuesInput{QueueNamePrefix: aws.String(source + "-")})
	if err != nil {
		return err
	}

	for _, url := range queues.QueueUrls {
		w.emulated = append(w.emulated, placeOf(cloudsim.TypeQueue, url[strings.LastIndexByte(url, '/')+1:]))
	}

	return nil
}

func (w *world) readQueues(ctx context.Context, f *fleet) error {
	depth, err := f.queue.Depth(ctx)
	if err != nil {
		return err
	}

	w.queued = depth.Visible + depth.InFlight + depth.Delayed

	letters, err := f.dead.List(ctx, 100)
	for _, letter := range letters {
		w.letters = append(w.letters, string(letter.Body))
	}

	return err
}

// readMachine finds processes and files that should be gone.
func (w *world) readMachine(ctx context.Context, f *fleet) error {
	for bound := time.Now().Add(leaseDuration); ; {
		left := using(f.dir)
		if len(left) == 0 || time.Now().After(bound) {
			for _, p := range left {
				w.processes = append(w.processes, fmt.Sprintf("%d (%c) %s", p.pid, p.state, strings.Join(p.command, " ")))
			}

			break
		}

		if !pause(ctx, 200*time.Millisecond) {
			return ctx.Err()
		}
	}

	return filepath.WalkDir(f.work, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() != "lock" {
			w.files = append(w.files, strings.TrimPrefix(path, f.work))
		}

		return err
	})
}

// line is what is read of a line of a worker's log.
type line struct {
	Time    time.Time `json:"time"`
	Message string    `json:"msg"`
	Tenant  string    `json:"tenant_id"`
	ID      string    `json:"operation_id"`
	Fence   int64     `json:"fence"`
	Kind    string    `json:"kind"`
}

func (w *world) readLogs(_ context.Context, f *fleet) error {
	for _, worker := range f.workers {
		running := map[string]int{}

		err := eachLine(f.logs, worker.number, func(l line, _ string) {
			switch l.Message {
			case "operation started":
				running[l.ID] = len(w.operations)
				w.operations = append(w.operations, operation{
					tenant: l.Tenant, id: l.ID, fence: l.Fence, worker: worker.number, start: l.Time, kind: "?",
				})
			case "operation succeeded", "operation failed":
				if i, ok := running[l.ID]; ok {
					w.operations[i].end, w.operations[i].kind = l.Time, l.Kind
				}
			}
		})
		if err != nil {
			return err
		}
	}

	slices.SortStableFunc(w.operations, func(a, b operation) int { return a.start.Compare(b.start) })

	return nil
}

// eachLine reads a worker's log.
func eachLine(dir string, worker int, do func(l line, raw string)) error {
	file, err := os.Open(filepath.Join(dir, fmt.Sprintf("worker-%02d.log", worker)))
	if err != nil {
		return err
	}
	defer file.Close()

	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)

	for lines.Scan() {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) == nil {
			do(l, lines.Text())
		}
	}

	return lines.Err()
}
