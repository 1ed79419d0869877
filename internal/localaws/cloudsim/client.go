package cloudsim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Client talks to a simulator.
type Client struct {
	base string
	http *http.Client
}

// NewClient returns a client for the simulator at endpoint, the URL that
// PathPrefix is mounted at. There is no timeout but the context's, because
// faults may hang.
func NewClient(endpoint string, client *http.Client) *Client {
	if client == nil {
		client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: maxIdle}}
	}

	return &Client{base: strings.TrimRight(endpoint, "/") + PathPrefix, http: client}
}

const maxIdle = 16

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Create makes a resource. A refusal is an *Error.
func (c *Client) Create(ctx context.Context, req Creation) (Resource, error) {
	var r Resource

	err := c.call(ctx, http.MethodPost, "/resources", req, &r)

	return r, err
}

// Get returns one resource. IsNotFound tells that there is none.
func (c *Client) Get(ctx context.Context, typ, region, id string) (Resource, error) {
	q := url.Values{"type": {typ}, "region": {region}, "id": {id}}

	var r Resource

	err := c.call(ctx, http.MethodGet, "/resource?"+q.Encode(), nil, &r)

	return r, err
}

// Change modifies a resource.
func (c *Client) Change(ctx context.Context, req Change) (Resource, error) {
	var r Resource

	err := c.call(ctx, http.MethodPut, "/resources", req, &r)

	return r, err
}

// Remove deletes a resource, or begins to.
func (c *Client) Remove(ctx context.Context, req Removal) error {
	return c.call(ctx, http.MethodDelete, "/resources", req, nil)
}

// List returns the resources that the filter selects, oldest first.
func (c *Client) List(ctx context.Context, f Filter) ([]Resource, error) {
	q := url.Values{}
	if f.Type != "" {
		q.Set("type", f.Type)
	}

	if f.Region != "" {
		q.Set("region", f.Region)
	}

	if f.PendingDeletion {
		q.Set("pendingDeletion", "true")
	}

	for name, value := range f.Tags {
		q.Set(tagQuery+name, value)
	}

	for name, value := range f.Texts {
		q.Set(textQuery+name, value)
	}

	var list []Resource

	err := c.call(ctx, http.MethodGet, "/resources?"+q.Encode(), nil, &list)

	return list, err
}

// OfTenant returns the resources that are tagged with the tenant.
func (c *Client) OfTenant(ctx context.Context, tenant string) ([]Resource, error) {
	return c.List(ctx, Filter{Tags: map[string]string{TagTenant: tenant}})
}

// Log returns the mutations after the one with the sequence, oldest first.
func (c *Client) Log(ctx context.Context, after int64) ([]Entry, error) {
	var entries []Entry

	err := c.call(ctx, http.MethodGet, "/log?after="+strconv.FormatInt(after, 10), nil, &entries)

	return entries, err
}

// Journal returns every transition of the resources that are tagged with the
// tenant, or of all resources if tenant is empty. Resources of types without tags,
// such as role policies and aliases, are in the journal of all only.
func (c *Client) Journal(ctx context.Context, tenant string) (Journal, error) {
	var journal Journal

	err := c.call(ctx, http.MethodGet, "/journal?"+url.Values{"tenant": {tenant}}.Encode(), nil, &journal)

	return journal, err
}

// SetFault adds a fault and returns it with its id.
func (c *Client) SetFault(ctx context.Context, f Fault) (Fault, error) {
	var set Fault

	err := c.call(ctx, http.MethodPost, "/faults", f, &set)

	return set, err
}

// Faults returns the faults with their counts.
func (c *Client) Faults(ctx context.Context) ([]Fault, error) {
	var list []Fault

	err := c.call(ctx, http.MethodGet, "/faults", nil, &list)

	return list, err
}

// ClearFaults removes the fault with the id, or all if id is empty. What hangs
// because of it goes on.
func (c *Client) ClearFaults(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/faults?id="+url.QueryEscape(id), nil, nil)
}

func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	var payload io.Reader

	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encoding the request: %w", err)
		}

		payload = bytes.NewReader(raw)
	}

	req, err := http.NewRequestWithContext(ctx, method, c.base+path, payload)
	if err != nil {
		return fmt.Errorf("making the request: %w", err)
	}

	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("calling the cloud simulator: %w", err)
	}
	defer res.Body.Close()

	return decode(res, into)
}

func decode(res *http.Response, into any) error {
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("reading the answer of the cloud simulator: %w", err)
	}

	if res.StatusCode >= http.StatusBadRequest {
		refusal := &Error{}
		if err := json.Unmarshal(raw, refusal); err != nil || refusal.Code == "" {
			return fmt.Errorf("the cloud simulator answered %s: %w", res.Status, errNoSimulator)
		}

		return refusal
	}

	if into == nil {
		return nil
	}

	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decoding the answer of the cloud simulator: %w", err)
	}

	return nil
}
