package doctor

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/config"
	"drover/core/service"
)

// levels are the findings that a check adds: level and what they are about.
func levels(check func(f *Findings)) []string {
	f := Findings{}
	check(&f)
	all := []string{}
	for _, one := range f {
		all = append(all, one.Level+" "+one.About)
	}
	return all
}

func TestWhoElseReadsSecretsAndWritesData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	password := write("password", "s3cret\n")
	settings := write("drover.yaml", "redis: redis://drover:s3cret@h1:6379\nstore: mongodb://drover@db/drover?replicaSet=r\nstore_password_file: "+password+"\ndata: "+dir+"\n")
	cfg, err := config.Load(map[string]string{"config": settings}, nil)
	require.NoError(t, err)
	check := func(f *Findings) { f.files(cfg) }
	require.NoError(t, os.Chmod(dir, 0o755))
	require.Empty(t, levels(check))
	for path, mode := range map[string]os.FileMode{password: 0o640, settings: 0o644, dir: 0o777} {
		require.NoError(t, os.Chmod(path, mode))
	}
	require.ElementsMatch(t, []string{"fail setting store_password_file", "fail settings", "fail data folder"}, levels(check))
	f := Findings{}
	f.files(cfg)
	for _, one := range f {
		require.Contains(t, one.Mend, "chmod")
		require.NotContains(t, one.Text+one.Mend, "s3cret")
	}
	require.Equal(t, []string{"fail open files"}, levels(func(f *Findings) { f.Descriptors(24) }))
	require.Empty(t, levels(func(f *Findings) { f.Descriptors(1024) }))
}

// certificate writes a certificate for a name, and its key.
func certificate(t *testing.T, name string, from, until time.Time) (cert, key string) {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	is := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: from, NotAfter: until}
	raw, err := x509.CreateCertificate(rand.Reader, is, is, &signer.PublicKey, signer)
	require.NoError(t, err)
	private, err := x509.MarshalECPrivateKey(signer)
	require.NoError(t, err)
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600))
	return cert, key
}

func TestCertificatesOfTheSite(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		from, until time.Duration
		host        string
		level, says string
	}{
		"good":    {-day, 60 * day, "school.example", FindingOK, "good until 2027-01-27"},
		"over":    {-60 * day, -day, "school.example", FindingFail, "has expired: it was good until 2026-11-27"},
		"to come": {day, 60 * day, "school.example", FindingFail, "is not good yet"},
		"soon":    {-day, 13 * day, "school.example", FindingWarn, "expires soon"},
		"another": {-day, 60 * day, "other.example", FindingFail, "is not for school.example"},
	} {
		cert, key := certificate(t, c.host, now.Add(c.from), now.Add(c.until))
		f := Findings{}
		f.certificate(&config.Config{TLSCert: cert, TLSKey: key, SiteURL: "https://school.example"}, now)
		require.Len(t, f, 1, name)
		assert.Equal(t, c.level, f[0].Level, name)
		assert.Contains(t, f[0].Text, c.says, name)
	}
	f := Findings{}
	f.certificate(&config.Config{TLSCert: "/no/such", TLSKey: "/no/such"}, now)
	require.Equal(t, FindingFail, f[0].Level)
}

func TestWhereTheAddressOfTheSiteLeads(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(service.HealthHandler(map[string]service.Check{"redis": func(context.Context) error { return nil }}))
	t.Cleanup(site.Close)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	t.Cleanup(other.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for at, says := range map[string]string{site.URL: "ok leads to a site", other.URL: "warn is another program", gone.URL: "warn leads to no site"} {
		f := Findings{}
		f.address(t.Context(), at)
		require.Len(t, f, 1)
		level, text, _ := strings.Cut(says, " ")
		assert.Equal(t, level, f[0].Level)
		assert.Contains(t, f[0].Text, text)
	}
}
