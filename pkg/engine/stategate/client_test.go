package stategate_test

import (
	"net/http"
	"sync"
)

// closingClient is an HTTP client whose connections a test can close.
type closingClient struct {
	once      sync.Once
	transport *http.Transport
}

func (c *closingClient) Do(r *http.Request) (*http.Response, error) {
	c.once.Do(func() { c.transport = &http.Transport{} })

	return (&http.Client{Transport: c.transport}).Do(r)
}

func (c *closingClient) close() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
}
