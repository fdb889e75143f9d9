package storetest

import (
	"fmt"
	"strings"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// Image makes an image of a name; equal numbers have equal digests.
func Image(name string, n int) core.Image {
	return core.Image{Name: name, Digest: fmt.Sprintf("sha256:%064x", n), Size: 7, Files: 3, Bytes: 11, Source: "a test", Created: int64(n)}
}

func images(t *testing.T, s school.ResultStore) {
	none, err := s.ListImages(t.Context())
	require.NoError(t, err)
	require.Empty(t, none)
	b1, b2, a := Image("b", 1), Image("b", 2), Image("a", 1)
	for _, image := range []core.Image{b1, b2, a} {
		require.NoError(t, s.PutImage(t.Context(), image))
	}
	all := func() []core.Image {
		t.Helper()
		all, err := s.ListImages(t.Context())
		require.NoError(t, err)
		return all
	}
	require.Equal(t, []core.Image{a, b2, b1}, all())
	for ref, want := range map[string]core.Image{"a": a, "b": b2, b1.Ref(): b1, b2.Ref(): b2} {
		got, err := s.GetImage(t.Context(), ref)
		require.NoError(t, err)
		require.Equal(t, want, got, ref)
	}

	b1.Source = "another way"
	require.NoError(t, s.PutImage(t.Context(), b1))
	require.Equal(t, []core.Image{a, b1, b2}, all(), "what is put again is the newest again")
	named := map[string]bool{}
	require.NoError(t, s.Digests(t.Context(), func(digest string) error { named[digest] = true; return nil }))
	require.Equal(t, map[string]bool{a.Digest: true, b2.Digest: true}, named, "a purge must know of them")

	require.NoError(t, s.DeleteImage(t.Context(), b1.Ref()))
	require.Equal(t, []core.Image{a, b2}, all())
	require.NoError(t, s.PutImage(t.Context(), b1))
	require.NoError(t, s.DeleteImage(t.Context(), "b"))
	require.Equal(t, []core.Image{a}, all(), "all of the name are gone, those of another are not")
	for _, ref := range []string{"b", b1.Ref(), "never", Image("a", 9).Ref()} {
		_, err := s.GetImage(t.Context(), ref)
		requireCode(t, core.CodeNotFound, err)
		requireCode(t, core.CodeNotFound, s.DeleteImage(t.Context(), ref))
	}
}

func imagesRefuse(t *testing.T, s school.ResultStore) {
	for name, change := range map[string]func(i *core.Image){
		"no name":        func(i *core.Image) { i.Name = "" },
		"a path":         func(i *core.Image) { i.Name = "../a" },
		"no digest":      func(i *core.Image) { i.Digest = "" },
		"another digest": func(i *core.Image) { i.Digest = "md5:00" },
		"upper case":     func(i *core.Image) { i.Digest = "sha256:" + strings.Repeat("A", 64) },
		"a short digest": func(i *core.Image) { i.Digest = i.Digest[:70] },
	} {
		image := Image("a", 1)
		change(&image)
		require.Equal(t, core.CodeInvalid, core.CodeOf(s.PutImage(t.Context(), image)), name)
	}
	for _, ref := range []string{"", "A", "a@", "a@sha256:", "a@sha256:0", "@" + Image("a", 1).Digest} {
		_, err := s.GetImage(t.Context(), ref)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), ref)
		require.Equal(t, core.CodeInvalid, core.CodeOf(s.DeleteImage(t.Context(), ref)), ref)
	}
	together(t, core.ImageQuota.Most, func(i int) error { return s.PutImage(t.Context(), Image("a", i)) })
	requireCode(t, core.CodeLimit, s.PutImage(t.Context(), Image("b", 1)))
	require.NoError(t, s.PutImage(t.Context(), Image("a", 5)), "one that is there can be put again")
}
