package ltitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// People is the claim that says where a course's list is.
const People = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"

// membersToken is the token for lists.
const membersToken = accessToken + "-members"

// Members is the address of the course's list, in pages of two.
func (p *Platform) Members() string { return p.URL + "/courses/1/members" }

// Enrol has the course have exactly these people, as the list describes them.
func (p *Platform) Enrol(people ...map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.people = people
}

// Bend changes each answer of the list, if not nil.
func (p *Platform) Bend(how func(header http.Header, answer map[string]any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bend = how
}

// Member describes somebody in the list, with a role by its short or its full name.
func Member(subject, name, email, role string) map[string]any {
	return map[string]any{"status": "Active", "user_id": subject, "name": name, "email": email, "roles": []string{role}}
}

func (p *Platform) members(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+membersToken || r.Header.Get("Accept") != "application/vnd.ims.lti-nrps.v2.membershipcontainer+json" {
		http.Error(w, "no token", http.StatusUnauthorized)
		return
	}
	const size = 2
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	from = min(from, len(p.people))
	to := min(from+size, len(p.people))
	answer := map[string]any{
		"id": p.Members(), "context": map[string]any{"id": "course-1", "label": "CS"}, "members": append([]map[string]any{}, p.people[from:to]...),
	}
	if to < len(p.people) {
		w.Header().Set("Link", fmt.Sprintf(`<%s?from=0>; rel="first", <%s?from=%d>; rel="next"`, p.Members(), p.Members(), to))
	}
	if p.bend != nil {
		p.bend(w.Header(), answer)
	}
	w.Header().Set("Content-Type", "application/vnd.ims.lti-nrps.v2.membershipcontainer+json")
	_ = json.NewEncoder(w).Encode(answer)
}
