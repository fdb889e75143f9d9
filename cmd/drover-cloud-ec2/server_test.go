package main

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is one that speaks the part of the API of EC2 that this program uses, in any region, written after its
// documentation: client tokens, tags, filters, pages, states and errors. It is no proof that EC2 itself answers so.
type server struct {
	URL string

	mu        sync.Mutex
	Instances map[string]*instance             // by id
	Fail      func(call, region string) string // code of an error with which a call fails; "": it does not
	Calls     []string                         // "call region"
	made      map[string]string                // region and client token → id
	asked     map[string]string                // the same → all parameters
}

// instance is one of its machines.
type instance struct {
	ID, Region, State string
	Launched          time.Time
	Tags              map[string]string
	Asked             url.Values // parameters of the call that made it
	Marked            time.Time  // when EC2 said that it takes it back; zero: it did not
}

// page is how many instances a page has, so that there are several.
const page = 2

// startServer starts one that ends with the test.
func startServer(t testing.TB) *server {
	t.Helper()
	s := &server{Instances: map[string]*instance{}, made: map[string]string{}, asked: map[string]string{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// With does something with the server while no call does.
func (s *server) With(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "text/xml")
	scope := strings.Split(r.Header.Get("Authorization"), "/") // AWS4-HMAC-SHA256 Credential=KEY/date/region/ec2/aws4_request
	if err := r.ParseForm(); err != nil || len(scope) < 5 || scope[3] != "ec2" {
		s.refuse(w, "AuthFailure")
		return
	}
	call, region := r.Form.Get("Action"), scope[2]
	s.Calls = append(s.Calls, call+" "+region)
	if s.Fail != nil {
		if code := s.Fail(call, region); code != "" {
			s.refuse(w, code)
			return
		}
	}
	switch call {
	case "RunInstances":
		s.run(w, region, r.Form)
	case "DescribeInstances":
		s.describe(w, region, r.Form)
	case "DescribeSpotInstanceRequests":
		s.spots(w, region)
	case "TerminateInstances":
		s.terminate(w, region, r.Form.Get("InstanceId.1"))
	default:
		s.refuse(w, "InvalidAction")
	}
}

func (s *server) refuse(w http.ResponseWriter, code string) {
	w.WriteHeader(http.StatusBadRequest)
	_, _ = fmt.Fprintf(w, "<Response><Errors><Error><Code>%s</Code><Message>as the test says</Message></Error></Errors><RequestID>1</RequestID></Response>", code)
}

func (s *server) run(w http.ResponseWriter, region string, form url.Values) {
	token := region + " " + form.Get("ClientToken")
	if id, is := s.made[token]; is {
		if s.asked[token] != form.Encode() {
			s.refuse(w, "IdempotentParameterMismatch")
			return
		}
		s.answer(w, "RunInstancesResponse", "<instancesSet>"+s.Instances[id].item()+"</instancesSet>")
		return
	}
	i := &instance{
		ID: fmt.Sprintf("i-%08d", len(s.Instances)+1), Region: region, State: "pending", Launched: time.Now(), Asked: form, Tags: map[string]string{},
	}
	for n := 1; form.Has(fmt.Sprintf("TagSpecification.%d.ResourceType", n)); n++ {
		at := fmt.Sprintf("TagSpecification.%d.", n)
		for k := 1; form.Get(at+"ResourceType") == "instance" && form.Has(at+"Tag."+strconv.Itoa(k)+".Key"); k++ {
			i.Tags[form.Get(at+"Tag."+strconv.Itoa(k)+".Key")] = form.Get(at + "Tag." + strconv.Itoa(k) + ".Value")
		}
	}
	s.Instances[i.ID], s.made[token], s.asked[token] = i, i.ID, form.Encode()
	s.answer(w, "RunInstancesResponse", "<instancesSet>"+i.item()+"</instancesSet>")
}

func (i *instance) item() string {
	tags := ""
	for _, k := range slices.Sorted(maps.Keys(i.Tags)) {
		tags += "<item><key>" + escaped(k) + "</key><value>" + escaped(i.Tags[k]) + "</value></item>"
	}
	return "<item><instanceId>" + i.ID + "</instanceId><instanceState><name>" + i.State + "</name></instanceState><launchTime>" +
		i.Launched.UTC().Format("2006-01-02T15:04:05.000Z") + "</launchTime><tagSet>" + tags + "</tagSet></item>"
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

// filtered lists a region's instances that all filters by tag let through, in order of id.
func (s *server) filtered(region string, form url.Values) (all []*instance) {
	for _, id := range slices.Sorted(maps.Keys(s.Instances)) {
		i := s.Instances[id]
		fits := i.Region == region
		for n := 1; form.Has(fmt.Sprintf("Filter.%d.Name", n)); n++ {
			tag, is := strings.CutPrefix(form.Get(fmt.Sprintf("Filter.%d.Name", n)), "tag:")
			fits = fits && is && i.Tags[tag] == form.Get(fmt.Sprintf("Filter.%d.Value.1", n))
		}
		if fits {
			all = append(all, i)
		}
	}
	return all
}

func (s *server) describe(w http.ResponseWriter, region string, form url.Values) {
	from, _ := strconv.Atoi(form.Get("NextToken"))
	all := s.filtered(region, form)
	text, next := "", ""
	for _, i := range all[min(from, len(all)):min(from+page, len(all))] {
		text += "<item><instancesSet>" + i.item() + "</instancesSet></item>"
	}
	if from+page < len(all) {
		next = "<nextToken>" + strconv.Itoa(from+page) + "</nextToken>"
	}
	s.answer(w, "DescribeInstancesResponse", "<reservationSet>"+text+"</reservationSet>"+next)
}

func (s *server) spots(w http.ResponseWriter, region string) {
	text := ""
	for _, id := range slices.Sorted(maps.Keys(s.Instances)) {
		if i := s.Instances[id]; i.Region == region && !i.Marked.IsZero() {
			text += "<item><instanceId>" + id + "</instanceId><status><code>marked-for-termination</code><updateTime>" +
				i.Marked.UTC().Format("2006-01-02T15:04:05.000Z") + "</updateTime></status></item>"
		}
	}
	s.answer(w, "DescribeSpotInstanceRequestsResponse", "<spotInstanceRequestSet>"+text+"</spotInstanceRequestSet>")
}

func (s *server) terminate(w http.ResponseWriter, region, id string) {
	i := s.Instances[id]
	if i == nil || i.Region != region {
		s.refuse(w, "InvalidInstanceID.NotFound")
		return
	}
	i.State = "shutting-down"
	s.answer(w, "TerminateInstancesResponse", "<instancesSet><item><instanceId>"+id+"</instanceId></item></instancesSet>")
}

func (s *server) answer(w http.ResponseWriter, name, text string) {
	_, _ = fmt.Fprintf(w, `<%s xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>1</requestId>%s</%s>`, name, text, name)
}
