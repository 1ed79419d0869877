package tenant_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestParseID(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		in string
		ok bool
	}{
		"a word":                {in: "acme", ok: true},
		"one character":         {in: "7", ok: true},
		"all that is allowed":   {in: "Acme_Corp.eu-1", ok: true},
		"a uuid":                {in: "550e8400-e29b-41d4-a716-446655440000", ok: true},
		"63 characters":         {in: strings.Repeat("a", 63), ok: true},
		"64 characters":         {in: strings.Repeat("a", 64)},
		"nothing":               {in: ""},
		"a slash":               {in: "acme/prod"},
		"a path":                {in: "../acme"},
		"a hyphen first":        {in: "-acme"},
		"a dot first":           {in: ".acme"},
		"a space":               {in: "acme corp"},
		"a new line at the end": {in: "acme\n"},
		"an umlaut":             {in: "ümlaut"},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			id, err := tenant.ParseID(tt.in)
			if tt.ok {
				require.NoError(t, err)
				require.Equal(t, tt.in, id.String())

				return
			}

			require.ErrorIs(t, err, tenant.ErrInvalidID)
			require.ErrorContains(t, err, "must match")
		})
	}
}

func TestParseIDDoesNotEchoMuch(t *testing.T) {
	t.Parallel()

	for _, in := range []string{strings.Repeat("/", 1<<16), strings.Repeat("\x00", 1<<16), strings.Repeat("é", 1<<16)} {
		_, err := tenant.ParseID(in)
		require.ErrorIs(t, err, tenant.ErrInvalidID)
		require.Less(t, len(err.Error()), 200)
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		id    tenant.ID
		limit int
		want  string
	}{
		"plain":                           {id: "acme", limit: 32, want: "acme"},
		"plain with hyphens":              {id: "acme-eu-1", limit: 32, want: "acme-eu-1"},
		"exactly the limit":               {id: "acme-corporation", limit: 16, want: "acme-corporation"},
		"longer than the limit":           {id: "acme-corporation", limit: 15, want: "acme-c-56b7d3db"},
		"upper case":                      {id: "Acme", limit: 32, want: "acme-37036cd8"},
		"dots":                            {id: "acme.eu", limit: 32, want: "acme-eu-6a5e7a0e"},
		"a digit first":                   {id: "42", limit: 32, want: "t42-73475cb4"},
		"looks like a hashed one":         {id: "acme-37036cd8", limit: 32, want: "acme-37036cd8-78aa8e27"},
		"two hyphens":                     {id: "acme--eu", limit: 32, want: "acme-eu-8bb63d72"},
		"a hyphen last":                   {id: "acme-", limit: 32, want: "acme-d8b61d2d"},
		"the limit is never less than 10": {id: "acme-corporation", limit: 1, want: "a-56b7d3db"},
		"no hyphen before the hash":       {id: "ab-cdefghijklmnop", limit: 12, want: "ab-cf35a070"},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tt.id.Slug(tt.limit))
		})
	}
}

func TestSlugsAreSafeAndUnique(t *testing.T) {
	t.Parallel()

	safe := regexp.MustCompile(`^[a-z](-?[a-z0-9])*$`)
	// Ids of few letters that differ in case and punctuation are what collides.
	id := rapid.StringMatching(`[aAbB1][aA1_.-]{0,8}(-[0-9a-f]{8})?`)

	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(10, 40).Draw(t, "limit")
		slugs := map[string]string{}

		for _, s := range rapid.SliceOfNDistinct(id, 2, 30, rapid.ID).Draw(t, "ids") {
			parsed, err := tenant.ParseID(s)
			require.NoError(t, err)

			slug := parsed.Slug(limit)
			require.Regexp(t, safe, slug)
			require.LessOrEqual(t, len(slug), limit)
			require.Equal(t, slug, parsed.Slug(limit))
			require.Emptyf(t, slugs[slug], "%q and %q share %q", s, slugs[slug], slug)
			slugs[slug] = s
		}
	})
}

// The slug of one id as an id of its own must not lead to the same name.
func TestASlugTakenAsAnIDDoesNotCollide(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		id := tenant.ID(rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.-]{0,62}`).Draw(t, "id"))
		limit := rapid.IntRange(10, 63).Draw(t, "limit")

		slug := id.Slug(limit)
		if slug == id.String() {
			return
		}

		require.NotEqual(t, slug, tenant.ID(slug).Slug(limit))
	})
}
