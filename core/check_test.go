package core_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

// refusal is a change that makes a good record one that is refused.
type refusal[T any] struct {
	change func(*T)
	want   core.Code
}

// refuses shows that a record is good, and what each change makes of it.
func refuses[T any](t *testing.T, good func() T, check func(T) error, all map[string]refusal[T]) {
	t.Helper()
	require.NoError(t, check(good()))
	for name, c := range all {
		x := good()
		c.change(&x)
		err := check(x)
		require.Error(t, err, name)
		require.Equal(t, c.want, core.CodeOf(err), "%s: %v", name, err)
		require.NotContains(t, err.Error(), "s3cret", name)
	}
}

func TestHostWishCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() core.HostWish { return core.HostWish{Host: "a", Kind: core.WishDrain, At: 1} }, core.HostWish.Check, map[string]refusal[core.HostWish]{
		"host":   {func(w *core.HostWish) { w.Host = "a b" }, core.CodeInvalid},
		"kind":   {func(w *core.HostWish) { w.Kind = "love" }, core.CodeInvalid},
		"at":     {func(w *core.HostWish) { w.At = -1 }, core.CodeInvalid},
		"until":  {func(w *core.HostWish) { w.Until = -1 }, core.CodeInvalid},
		"needed": {func(w *core.HostWish) { w.Needed = -1 }, core.CodeInvalid},
		"by":     {func(w *core.HostWish) { w.By = "a\nb" }, core.CodeInvalid},
		"long":   {func(w *core.HostWish) { w.Reason = strings.Repeat("x", core.MaxWishReason+1) }, core.CodeLimit},
	})
}

func TestTaskEndCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() core.TaskEnd {
		return core.TaskEnd{
			ID: "a", Generation: 1, State: core.TaskDone, Note: "a\nü", Progress: &core.TaskProgress{},
			Download: &core.Download{Name: "grades ü.csv", Type: "text/csv; charset=utf-8", Digest: "sha256:" + strings.Repeat("0a", 32), Size: 5, Expires: 7},
		}
	}, core.TaskEnd.Check, map[string]refusal[core.TaskEnd]{
		"no end":           {func(e *core.TaskEnd) { e.State = core.TaskQueued }, core.CodeInvalid},
		"long note":        {func(e *core.TaskEnd) { e.Note = strings.Repeat("x", core.MaxNote+1) }, core.CodeLimit},
		"binary note":      {func(e *core.TaskEnd) { e.Note = "\xff" }, core.CodeInvalid},
		"progress":         {func(e *core.TaskEnd) { e.Progress.Done = -1 }, core.CodeInvalid},
		"long progress":    {func(e *core.TaskEnd) { e.Progress.Text = strings.Repeat("x", core.MaxProgressText+1) }, core.CodeLimit},
		"no name":          {func(e *core.TaskEnd) { e.Download.Name = "" }, core.CodeInvalid},
		"a path":           {func(e *core.TaskEnd) { e.Download.Name = "../a" }, core.CodeInvalid},
		"another path":     {func(e *core.TaskEnd) { e.Download.Name = `c:\a` }, core.CodeInvalid},
		"a folder":         {func(e *core.TaskEnd) { e.Download.Name = ".." }, core.CodeInvalid},
		"a header":         {func(e *core.TaskEnd) { e.Download.Name = "a\r\nSet-Cookie: b" }, core.CodeInvalid},
		"a long name":      {func(e *core.TaskEnd) { e.Download.Name = strings.Repeat("x", core.MaxDownloadName+1) }, core.CodeLimit},
		"type":             {func(e *core.TaskEnd) { e.Download.Type = "" }, core.CodeInvalid},
		"a type's header":  {func(e *core.TaskEnd) { e.Download.Type = "text/csv\r\nA: b" }, core.CodeInvalid},
		"digest":           {func(e *core.TaskEnd) { e.Download.Digest = "sha256:0" }, core.CodeInvalid},
		"no digest":        {func(e *core.TaskEnd) { e.Download.Digest = "" }, core.CodeInvalid},
		"size":             {func(e *core.TaskEnd) { e.Download.Size = -1 }, core.CodeInvalid},
		"never to be gone": {func(e *core.TaskEnd) { e.Download.Expires = 0 }, core.CodeInvalid},
	})
}

func TestTaskCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() core.Task {
		return core.Task{
			ID: "a", Generation: 1, Kind: "archive_class", Args: json.RawMessage(`"` + strings.Repeat("x", core.MaxTaskArgs-2) + `"`), Unique: strings.Repeat("x", core.MaxUnique),
			Priority: core.PriorityLow, Lane: "lane-1", Requester: "ann", About: "cs101/hw1", Parent: "above", NotBefore: 77, Notify: []string{"w1", "w2"}, Created: 5,
		}
	}, func(x core.Task) error { return x.Check() }, map[string]refusal[core.Task]{
		"id":            {func(t *core.Task) { t.ID = "a b" }, core.CodeInvalid},
		"generation":    {func(t *core.Task) { t.Generation = 0 }, core.CodeInvalid},
		"no kind":       {func(t *core.Task) { t.Kind = "" }, core.CodeInvalid},
		"args":          {func(t *core.Task) { t.Args = json.RawMessage(`{`) }, core.CodeInvalid},
		"many args":     {func(t *core.Task) { t.Args = json.RawMessage(`"` + strings.Repeat("x", core.MaxTaskArgs) + `"`) }, core.CodeLimit},
		"long unique":   {func(t *core.Task) { t.Unique = strings.Repeat("x", core.MaxUnique+1) }, core.CodeLimit},
		"binary unique": {func(t *core.Task) { t.Unique = "\xff" }, core.CodeInvalid},
		"priority":      {func(t *core.Task) { t.Priority = "highest" }, core.CodeInvalid},
		"lane":          {func(t *core.Task) { t.Lane = "A" }, core.CodeInvalid},
		"requester":     {func(t *core.Task) { t.Requester = "ann@example.org" }, core.CodeInvalid},
		"about":         {func(t *core.Task) { t.About = "cs101/hw1/ann" }, core.CodeInvalid},
		"about nothing": {func(t *core.Task) { t.About = "cs101/" }, core.CodeInvalid},
		"parent":        {func(t *core.Task) { t.Parent = "../a" }, core.CodeInvalid},
		"own parent":    {func(t *core.Task) { t.Parent = t.ID }, core.CodeInvalid},
		"not before":    {func(t *core.Task) { t.NotBefore = -1 }, core.CodeInvalid},
		"created":       {func(t *core.Task) { t.Created = -1 }, core.CodeInvalid},
		"notify":        {func(t *core.Task) { t.Notify = []string{""} }, core.CodeInvalid},
		"notify many":   {func(t *core.Task) { t.Notify = make([]string, core.MaxNotify+1) }, core.CodeLimit},
		"failures":      {func(t *core.Task) { t.Failures = []core.TaskFailure{{}} }, core.CodeInvalid},
		"ended":         {func(t *core.Task) { t.State = core.TaskDone }, core.CodeInvalid},
	})
}

func TestWebhookCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() core.Webhook {
		return core.Webhook{ID: "a", Class: "cs101", By: "tess", URL: "https://example.org/", Events: []string{core.EventTaskEnded}, Created: 5}
	}, core.Webhook.Check, map[string]refusal[core.Webhook]{
		"id":              {func(w *core.Webhook) { w.ID = "" }, core.CodeInvalid},
		"class":           {func(w *core.Webhook) { w.Class = "CS 101" }, core.CodeInvalid},
		"nobody's":        {func(w *core.Webhook) { w.By = "" }, core.CodeInvalid},
		"no event":        {func(w *core.Webhook) { w.Events = nil }, core.CodeInvalid},
		"unknown event":   {func(w *core.Webhook) { w.Events = []string{"request.begun"} }, core.CodeInvalid},
		"event twice":     {func(w *core.Webhook) { w.Events = []string{core.EventTaskEnded, core.EventTaskEnded} }, core.CodeInvalid},
		"created":         {func(w *core.Webhook) { w.Created = -1 }, core.CodeInvalid},
		"a changed event": {func(w *core.Webhook) { w.Revision, w.Events = 1, []string{""} }, core.CodeInvalid},
	})
}

func TestScheduleCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() core.Schedule {
		return core.Schedule{Name: "a", Cron: "17 3 * * *", Kind: core.KindPurge, Since: 5}
	}, core.Schedule.Check, map[string]refusal[core.Schedule]{
		"name":      {func(x *core.Schedule) { x.Name = "every day" }, core.CodeInvalid},
		"no time":   {func(x *core.Schedule) { x.Cron = " " }, core.CodeInvalid},
		"a line":    {func(x *core.Schedule) { x.Cron = "@daily\n" }, core.CodeInvalid},
		"long":      {func(x *core.Schedule) { x.Cron = strings.Repeat("1,", 200) + "1 * * * *" }, core.CodeLimit},
		"kind":      {func(x *core.Schedule) { x.Kind = "" }, core.CodeInvalid},
		"args":      {func(x *core.Schedule) { x.Args = json.RawMessage("{") }, core.CodeInvalid},
		"many args": {func(x *core.Schedule) { x.Args = json.RawMessage(`"` + strings.Repeat("x", core.MaxTaskArgs) + `"`) }, core.CodeLimit},
		"priority":  {func(x *core.Schedule) { x.Priority = "lowest" }, core.CodeInvalid},
		"requester": {func(x *core.Schedule) { x.Requester = "Ann" }, core.CodeInvalid},
		"about":     {func(x *core.Schedule) { x.About = "cs101/hw 1" }, core.CodeInvalid},
		"since":     {func(x *core.Schedule) { x.Since = -1 }, core.CodeInvalid},
		"last":      {func(x *core.Schedule) { x.Last = -1 }, core.CodeInvalid},
	})
}

func TestAuditEntryCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() core.AuditEntry {
		return core.AuditEntry{ID: "a", At: 5, Actor: "tess", Action: core.ActGradeChange, Class: "cs101", Subject: "cs101/hw1", Text: "grade 1 instead of 2:\n\tby hand"}
	}, core.AuditEntry.Check, map[string]refusal[core.AuditEntry]{
		"id":      {func(d *core.AuditEntry) { d.ID = "" }, core.CodeInvalid},
		"actor":   {func(d *core.AuditEntry) { d.Actor = "" }, core.CodeInvalid},
		"action":  {func(d *core.AuditEntry) { d.Action = "" }, core.CodeInvalid},
		"class":   {func(d *core.AuditEntry) { d.Class = "A" }, core.CodeInvalid},
		"at":      {func(d *core.AuditEntry) { d.At = -1 }, core.CodeInvalid},
		"subject": {func(d *core.AuditEntry) { d.Subject = "a\nb" }, core.CodeInvalid},
		"long":    {func(d *core.AuditEntry) { d.Subject = strings.Repeat("x", core.MaxSubject+1) }, core.CodeLimit},
		"control": {func(d *core.AuditEntry) { d.Text = "a\x1b[0m" }, core.CodeInvalid},
		"UTF-8":   {func(d *core.AuditEntry) { d.Text = "a\xff" }, core.CodeInvalid},
		"epic":    {func(d *core.AuditEntry) { d.Text = strings.Repeat("x", core.MaxAuditText+1) }, core.CodeLimit},
	})
}

func TestImageCheck(t *testing.T) {
	t.Parallel()
	good := func() core.Image {
		return core.Image{Name: "a", Digest: "sha256:" + strings.Repeat("0a", 32), Size: 1, Source: "a tar"}
	}
	refuses(t, good, core.Image.Check, map[string]refusal[core.Image]{
		"name":            {func(i *core.Image) { i.Name = "../a" }, core.CodeInvalid},
		"digest":          {func(i *core.Image) { i.Digest = "md5:00" }, core.CodeInvalid},
		"no size":         {func(i *core.Image) { i.Size = 0 }, core.CodeInvalid},
		"files below 0":   {func(i *core.Image) { i.Files = -1 }, core.CodeInvalid},
		"a long source":   {func(i *core.Image) { i.Source = strings.Repeat("x", core.MaxSource+1) }, core.CodeInvalid},
		"a binary source": {func(i *core.Image) { i.Source = "\xff" }, core.CodeInvalid},
	})
}
