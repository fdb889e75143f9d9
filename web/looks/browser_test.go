package looks_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/alexedwards/scs/v2"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/web/browsertest"
	"drover/web/caller"
	"drover/web/looks"
	"drover/web/page"
)

// The parts of all pages can be used by all, in each light, language and width.
func TestLooksInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	sessions := scs.New()
	site, err := page.New(page.Config{Name: "Test school", Sessions: sessions}, looks.Section(nil))
	require.NoError(t, err)
	b := browsertest.Start(t)
	for language, says := range map[string]string{"en": "Outcomes", "de": "Ergebnisse"} {
		server := httptest.NewServer(sessions.LoadAndSave(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Accept-Language", language)
			site.ServeHTTP(w, r.WithContext(caller.With(r.Context(), &caller.Caller{Actor: core.Actor{Handle: "ann"}, Name: "ann"})))
		})))
		t.Cleanup(server.Close)
		tab := b.Tab(t)
		for _, dark := range []bool{false, true} {
			for _, width := range []int64{1280, 360} {
				tab.Screen(width, 900, dark)
				tab.Goto(server.URL + "/looks")
				tab.Await(says)
				require.Empty(t, tab.Axe(), "%s, dark %v, %d px", language, dark, width)
				require.LessOrEqual(t, tab.Overflow(), 0, "%s, %d px", language, width)
			}
		}
	}
}
