package tango_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"drover/core"
	"drover/web/compat/compattest"
	"drover/web/compat/tango"
	"drover/web/services"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const pool = "autograding"

// fixture is a compatible API in the fixture of compatible APIs.
type fixture struct {
	*compattest.Fixture

	t   *testing.T
	api *tango.API
	now time.Time
}

func newFixture(t *testing.T, change ...func(*services.Deps, *tango.Settings)) *fixture {
	t.Helper()
	w := &fixture{Fixture: compattest.New(t, core.DefaultPool(pool)), t: t, now: time.Now()}
	p := w.Deps
	p.Now = func() time.Time { return w.now }
	own := tango.Settings{
		Keys: w, Cache: w.Cluster.Store, Images: map[string]string{"autograding_image": pool}, Callbacks: compattest.Here(t), Version: "test",
	}
	for _, c := range change {
		c(&p, &own)
	}
	w.api = tango.New(p, own)
	return w
}

// ask makes one call; a method, a path and, after the body, the name of a file to upload.
func (w *fixture) ask(method, path, body string, filename ...string) (status int, answer string) {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(body))
	for _, name := range filename {
		r.Header.Set("Filename", name)
	}
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	return rec.Code, rec.Body.String()
}
