package lti

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

// Bounds of a platform's list of a course.
const (
	maxMembers      = classes.MaxImportRows
	maxMemberPages  = 200
	maxMembersBytes = 8 << 20 // of one page
	membersKind     = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"
)

// Person is somebody of whom a platform says that it is in a course.
type Person struct {
	Subject string
	Name    string
	Email   string
	Roles   []string
	Role    core.UserRole // in a class; "" for none
	Away    bool          // the platform does not let it in, though it is in the list
}

// listed is a page of a platform's list.
type listed struct {
	Context struct {
		ID string `json:"id"`
	} `json:"context"`
	Members []struct {
		Status     string   `json:"status"`
		Subject    string   `json:"user_id"`
		Name       string   `json:"name"`
		GivenName  string   `json:"given_name"`
		FamilyName string   `json:"family_name"`
		Email      string   `json:"email"`
		Roles      []string `json:"roles"`
	} `json:"members"`
}

// people asks a platform who is in a course. Returns UNAVAILABLE, LIMIT, and INVALID if it does not say.
func (s *Service) people(ctx context.Context, p *school.LTIPlatform, c *school.LTICourse) ([]Person, error) {
	if c.Members == "" || p.TokenURL == "" {
		return nil, core.Errorf(core.CodeInvalid, c.Class, "the platform has not said where its list of the course is: the platform has to let this site read names and roles, and a teacher has to open a link of the course after that")
	}
	first, err := url.Parse(c.Members)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, c.Class, "the address of the course's list cannot be read")
	}
	var found []Person
	for at, pages := c.Members, 0; at != ""; pages++ {
		u, err := url.Parse(at)
		if err != nil || u.Scheme != first.Scheme || u.Host != first.Host || school.CheckLTIURL(c.Class, "address of the next page", at) != nil {
			return nil, core.Errorf(core.CodeUnavailable, p.ID, "the course's list goes on at another site than %s", first.Host)
		}
		if pages == maxMemberPages {
			return nil, core.Errorf(core.CodeLimit, p.ID, "the course's list has more than %d pages", maxMemberPages)
		}
		some, next, err := s.peoplePage(ctx, p, c, u)
		if err != nil {
			return nil, err
		}
		if found = append(found, some...); len(found) > maxMembers {
			return nil, core.Errorf(core.CodeLimit, p.ID, "the course has more than %d people", maxMembers)
		}
		at = next
	}
	return found, nil
}

func (s *Service) peoplePage(ctx context.Context, p *school.LTIPlatform, c *school.LTICourse, at *url.URL) ([]Person, string, error) {
	token, err := s.token(ctx, p, scopeMembers)
	if err != nil {
		return nil, "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, "", core.Wrap(err, core.CodeInvalid, p.ID, "the address of the course's list cannot be asked")
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", membersKind)
	raw, header, err := s.answer(r, maxMembersBytes)
	if err != nil {
		s.forget(p, scopeMembers) // it may have been revoked
		return nil, "", err
	}
	var got listed
	if json.Unmarshal(raw, &got) != nil || got.Members == nil {
		return nil, "", core.Errorf(core.CodeUnavailable, p.ID, "platform %s does not answer with a list of people", p.ID)
	}
	if got.Context.ID != c.Context {
		return nil, "", core.Errorf(core.CodeUnavailable, p.ID, "platform %s answers with the list of course %.80q, not of %.80q", p.ID, got.Context.ID, c.Context)
	}
	some := make([]Person, 0, len(got.Members))
	for _, m := range got.Members {
		one := Person{Subject: m.Subject, Name: line(m.Name), Email: strings.ToLower(strings.TrimSpace(m.Email)), Roles: m.Roles, Role: roleOf(m.Roles), Away: m.Status != "" && m.Status != "Active"}
		if one.Name == "" {
			one.Name = line(m.GivenName + " " + m.FamilyName)
		}
		if key, byEmail, err := school.UserKey(one.Email); err != nil || !byEmail || key != one.Email {
			one.Email = ""
		}
		if school.CheckLTIID("", "", one.Subject) != nil {
			one.Subject, one.Role = "", ""
		}
		some = append(some, one)
	}
	next, err := nextPage(at, header.Values("Link"))
	return some, next, err
}

// nextPage returns the address of the next page that a header names; "" for none.
func nextPage(at *url.URL, header []string) (string, error) {
	for rest := strings.Join(header, ","); ; {
		_, after, found := strings.Cut(rest, "<")
		address, after, whole := strings.Cut(after, ">")
		if !found || !whole {
			return "", nil
		}
		params, _, _ := strings.Cut(after, "<")
		rest = after
		for _, param := range strings.FieldsFunc(params, func(c rune) bool { return c == ';' || c == ',' }) {
			name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
			if !strings.EqualFold(strings.TrimSpace(name), "rel") || !slices.Contains(strings.Fields(strings.ToLower(strings.Trim(strings.TrimSpace(value), `"`))), "next") {
				continue
			}
			u, err := at.Parse(address)
			if err != nil {
				return "", core.Errorf(core.CodeUnavailable, at.Host, "the address of the list's next page cannot be read")
			}
			return u.String(), nil
		}
	}
}
