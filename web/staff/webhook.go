package staff

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"drover/core"
	"drover/core/classes"
	"drover/web/page"
)

func (s *staff) webhookRoutes() []page.Route {
	const hook = core.ActWebhook
	return []page.Route{
		{Pattern: "GET /classes/{class}/webhooks", Action: hook, Serve: s.webhooks},
		{Pattern: "POST /classes/{class}/webhooks", Action: hook, Serve: s.addWebhook},
		{Pattern: "GET /webhooks/{id}", Action: hook, Serve: s.webhook},
		{Pattern: "POST /webhooks/{id}", Action: hook, Serve: s.saveWebhook},
		{Pattern: "POST /webhooks/{id}/rotate", Action: hook, Serve: s.rotateWebhook},
		{Pattern: "POST /webhooks/{id}/test", Action: hook, Serve: s.testWebhook},
		{Pattern: "POST /webhooks/{id}/redeliver", Action: hook, Serve: s.redeliver},
		{Pattern: "POST /webhooks/{id}/delete", Action: hook, Serve: s.removeWebhook},
	}
}

func webhookPath(id string) string { return "/webhooks/" + url.PathEscape(id) }

// webhookRows is how many webhooks, or deliveries of one, a page has.
const webhookRows = 50

// events are those of which a class's webhook can be notified.
var events = []struct{ Name, Text string }{
	{core.EventRequestEnded, page.Sentence("the tests of a submission have ended")},
	{core.EventTaskEnded, page.Sentence("a task of the class has ended, such as a gradebook")},
	{core.EventCommentReleased, page.Sentence("a comment on a submission was released")},
	{core.EventQuestionAsked, page.Sentence("a student has asked a question about a submission")},
	{core.EventQuestionAnswered, page.Sentence("a question about a submission was answered")},
	{core.EventLeaseCreated, page.Sentence("a lease for the class was created")},
	{core.EventLeaseUpdated, page.Sentence("a lease of the class was changed, or moved to other hosts")},
	{core.EventLeaseDeleted, page.Sentence("a lease of the class was deleted")},
	{core.EventLeaseStarted, page.Sentence("a lease of the class started")},
	{core.EventLeaseEnding, page.Sentence("a lease of the class ends soon")},
	{core.EventLeaseEnded, page.Sentence("a lease of the class ended")},
	{core.EventLeaseFailed, page.Sentence("a lease of the class could not start")},
	{core.EventLeaseDegraded, page.Sentence("a lease of the class lacks something, or moved")},
	{core.EventLeaseWhole, page.Sentence("a lease of the class is whole again")},
}

// webhooksPage lists the webhooks of a class, with the form for another.
type webhooksPage struct {
	Class classes.ClassEntry
	All   []core.Webhook
	Next  string
	webhookForm
}

// webhookForm are the fields of a webhook's form.
type webhookForm struct {
	Choices any // events
	Typed   url.Values
	Chosen  map[string]bool // events
}

func formOf(typed url.Values) webhookForm {
	f := webhookForm{Choices: events, Typed: typed, Chosen: map[string]bool{}}
	for _, e := range typed["event"] {
		f.Chosen[e] = true
	}
	return f
}

func (s *staff) webhooksPage(r *page.Request, after string) (*webhooksPage, error) {
	p := &webhooksPage{webhookForm: formOf(url.Values{"event": {core.EventRequestEnded}})}
	var err error
	if p.Class, err = s.Classes.ViewClass(r.Context(), r.Actor(), r.PathValue("class")); err != nil {
		return nil, err
	}
	p.All, err = s.Classes.ListWebhooks(r.Context(), r.Actor(), p.Class.Handle, after, webhookRows)
	if len(p.All) == webhookRows {
		p.Next = "?" + url.Values{"after": {p.All[webhookRows-1].ID}}.Encode()
	}
	return p, err
}

func (s *staff) webhooks(r *page.Request) error {
	p, err := s.webhooksPage(r, r.URL.Query().Get("after"))
	if err != nil {
		return err
	}
	return r.Render("staff/webhooks", p)
}

// addWebhook answers with the secret, which is shown only once: it is in no session.
func (s *staff) addWebhook(r *page.Request) error {
	p, err := s.webhooksPage(r, "")
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	p.webhookForm = formOf(f.Typed)
	w, err := s.Classes.AddWebhook(r.Context(), r.Actor(), core.Webhook{Class: p.Class.Handle, URL: f.line("url"), Events: f.Typed["event"]})
	if err != nil {
		return r.Again(mendable(err), "staff/webhooks", p)
	}
	return s.secret(r, w, w.Secret)
}

// secretPage shows a webhook's secret.
type secretPage struct {
	core.Webhook
	Shown string
}

func (s *staff) secret(r *page.Request, w core.Webhook, secret string) error {
	w.Secret = ""
	return r.Render("staff/secret", secretPage{w, secret})
}

// webhookPage is a webhook with its deliveries.
type webhookPage struct {
	core.Webhook
	Deliveries []delivery
	Next       string
	webhookForm
}

// delivery is a delivery with its event.
type delivery struct {
	*core.Task
	Told core.WebhookArgs
}

func (s *staff) webhookPage(r *page.Request) (*webhookPage, error) {
	id := r.PathValue("id")
	w, err := s.Classes.ViewWebhook(r.Context(), r.Actor(), id)
	if err != nil {
		return nil, err
	}
	p := &webhookPage{Webhook: w, webhookForm: formOf(url.Values{
		"url": {w.URL}, "event": w.Events, "disabled": {ticked(w.Disabled)}, "revision": {strconv.FormatInt(w.Revision, 10)},
	})}
	all, err := s.Classes.Deliveries(r.Context(), r.Actor(), id, r.URL.Query().Get("before"), webhookRows)
	for i := range all {
		d := delivery{Task: &all[i]}
		if err := json.Unmarshal(all[i].Args, &d.Told); err != nil {
			return nil, core.Wrap(err, core.CodeInternal, all[i].ID, "the arguments of delivery %s cannot be read", all[i].ID)
		}
		p.Deliveries = append(p.Deliveries, d)
	}
	if len(all) == webhookRows {
		p.Next = "?" + url.Values{"before": {all[webhookRows-1].ID}}.Encode()
	}
	return p, err
}

func (s *staff) webhook(r *page.Request) error {
	p, err := s.webhookPage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/webhook", p)
}

// withWebhook changes a webhook; its page shows errors.
func (s *staff) withWebhook(r *page.Request, do func(p *webhookPage, f *form) error) error {
	p, err := s.webhookPage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	if err := do(p, f); err != nil {
		return r.Again(mendable(err), "staff/webhook", p)
	}
	return nil
}

func (s *staff) saveWebhook(r *page.Request) error {
	return s.withWebhook(r, func(p *webhookPage, f *form) error {
		p.webhookForm = formOf(f.Typed)
		w := core.Webhook{
			ID: p.ID, URL: f.line("url"), Events: slices.Clone(f.Typed["event"]), Disabled: f.checked("disabled"),
			Revision: f.whole(r, "revision", page.Sentence("Revision")),
		}
		if f.err != nil {
			return f.err
		}
		if _, err := s.Classes.EditWebhook(r.Context(), r.Actor(), w); err != nil {
			return err
		}
		return r.Redirect(webhookPath(p.ID), r.T("The webhook is saved."))
	})
}

func (s *staff) rotateWebhook(r *page.Request) error {
	return s.withWebhook(r, func(p *webhookPage, f *form) error {
		secret, err := s.Classes.RotateWebhook(r.Context(), r.Actor(), p.ID, f.checked("distrust"))
		if err != nil {
			return err
		}
		return s.secret(r, p.Webhook, secret)
	})
}

func (s *staff) testWebhook(r *page.Request) error {
	return s.withWebhook(r, func(p *webhookPage, _ *form) error {
		if _, err := s.Classes.TestWebhook(r.Context(), r.Actor(), p.ID); err != nil {
			return err
		}
		return r.Redirect(webhookPath(p.ID), r.T("A test is on its way."))
	})
}

func (s *staff) redeliver(r *page.Request) error {
	return s.withWebhook(r, func(p *webhookPage, f *form) error {
		if _, err := s.Classes.Redeliver(r.Context(), r.Actor(), f.line("delivery")); err != nil {
			return err
		}
		return r.Redirect(webhookPath(p.ID), r.T("It will be delivered again."))
	})
}

func (s *staff) removeWebhook(r *page.Request) error {
	return s.withWebhook(r, func(p *webhookPage, f *form) error {
		if f.confirmed(r); f.err != nil {
			return f.err
		}
		if err := s.Classes.RemoveWebhook(r.Context(), r.Actor(), p.ID); err != nil {
			return err
		}
		if p.Class == "" {
			return r.Redirect("/", r.T("The webhook is removed."))
		}
		return r.Redirect(classPath(p.Class)+"/webhooks", r.T("The webhook is removed."))
	})
}
