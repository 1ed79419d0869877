//go:build linux

package k8s_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	keyBits  = 2048
	validFor = 24 * time.Hour
	// commonName is who the API server says it is to KEDA's adapter.
	commonName = "control-plane"
)

// keys are the files that every part of the control plane shares: one
// certificate for servers and clients, with the names that KEDA expects.
type keys struct {
	dir, ca, cert, key, token string
	pool                      *x509.CertPool
}

// makeKeys writes the files. KEDA fixes the names of three of them.
func makeKeys(t *testing.T, dir string) keys {
	t.Helper()

	k := keys{
		dir: dir, ca: filepath.Join(dir, "ca.crt"), cert: filepath.Join(dir, "tls.crt"), key: filepath.Join(dir, "tls.key"),
		token: rand.Text(), pool: x509.NewCertPool(),
	}

	caKey, err := rsa.GenerateKey(rand.Reader, keyBits)
	require.NoError(t, err)

	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validFor),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	require.NoError(t, err)

	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	require.NoError(t, err)

	cert := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: commonName}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost", metricsService + "." + kedaNamespace + ".svc"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, ca, key.Public(), caKey)
	require.NoError(t, err)

	write(t, k.ca, "CERTIFICATE", caDER)
	write(t, k.cert, "CERTIFICATE", der)
	write(t, k.key, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))

	parsed, err := x509.ParseCertificate(caDER)
	require.NoError(t, err)
	k.pool.AddCert(parsed)

	return k
}

func write(t *testing.T, path, kind string, data []byte) {
	t.Helper()

	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
}
