package school_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
)

// phc is a password's hash.
const phc = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0$aGFzaC+/hash"

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

func TestAssignmentCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() school.Assignment {
		return school.Assignment{Class: "cs101", Handle: "hw1", Title: "One", Pool: "default", Priority: core.PriorityNormal, Created: 5}
	}, school.Assignment.Check, map[string]refusal[school.Assignment]{
		"no class":        {func(a *school.Assignment) { a.Class = "" }, core.CodeInvalid},
		"handle":          {func(a *school.Assignment) { a.Handle = "hw 2" }, core.CodeInvalid},
		"no title":        {func(a *school.Assignment) { a.Title = "" }, core.CodeInvalid},
		"long title":      {func(a *school.Assignment) { a.Title = strings.Repeat("x", 201) }, core.CodeLimit},
		"control":         {func(a *school.Assignment) { a.Text = "a\x1b[2J" }, core.CodeInvalid},
		"carriage return": {func(a *school.Assignment) { a.Text = "a\r\n" }, core.CodeInvalid},
		"long text":       {func(a *school.Assignment) { a.Text = strings.Repeat("x", core.MaxText+1) }, core.CodeLimit},
		"cutoff":          {func(a *school.Assignment) { a.Due, a.Cutoff = 2, 1 }, core.CodeInvalid},
		"due":             {func(a *school.Assignment) { a.Due = -1 }, core.CodeInvalid},
		"priority":        {func(a *school.Assignment) { a.Priority = "heavy" }, core.CodeInvalid},
		"no pool":         {func(a *school.Assignment) { a.Harness, a.Pool = &school.Harness{}, "" }, core.CodeInvalid},
		"limit":           {func(a *school.Assignment) { a.Limits.Pids = -1 }, core.CodeInvalid},
		"files":           {func(a *school.Assignment) { a.MaxFiles = core.MaxFiles + 1 }, core.CodeInvalid},
		"bytes":           {func(a *school.Assignment) { a.MaxBytes = -1 }, core.CodeInvalid},
	})
}

func TestDeadlineCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() school.Deadline {
		return school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Due: 5, By: "tess"}
	}, school.Deadline.Check, map[string]refusal[school.Deadline]{
		"class":   {func(d *school.Deadline) { d.Class = "" }, core.CodeInvalid},
		"by":      {func(d *school.Deadline) { d.By = "" }, core.CodeInvalid},
		"cutoff":  {func(d *school.Deadline) { d.Cutoff = d.Due - 1 }, core.CodeInvalid},
		"due":     {func(d *school.Deadline) { d.Due = -1 }, core.CodeInvalid},
		"control": {func(d *school.Deadline) { d.Reason = "\x00" }, core.CodeInvalid},
		"long":    {func(d *school.Deadline) { d.Reason = strings.Repeat("x", core.MaxReason+1) }, core.CodeLimit},
	})
}

func TestTokenCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() school.Token {
		return school.Token{
			ID: "k1", Kind: school.TokenAPI, User: "ann", Name: "a", Hash: strings.Repeat("0a", 32), Scopes: []school.Scope{school.ScopeRead}, Created: 5, Expires: 6,
		}
	}, school.Token.Check, map[string]refusal[school.Token]{
		"user":          {func(k *school.Token) { k.User = "a b" }, core.CodeInvalid},
		"id":            {func(k *school.Token) { k.ID = "" }, core.CodeInvalid},
		"kind":          {func(k *school.Token) { k.Kind = "root" }, core.CodeInvalid},
		"no name":       {func(k *school.Token) { k.Name = " " }, core.CodeInvalid},
		"two lines":     {func(k *school.Token) { k.Name = "a\nb" }, core.CodeInvalid},
		"long name":     {func(k *school.Token) { k.Name = strings.Repeat("x", core.MaxLine+1) }, core.CodeLimit},
		"the secret":    {func(k *school.Token) { k.Hash = "s3cret" }, core.CodeInvalid},
		"upper case":    {func(k *school.Token) { k.Hash = strings.ToUpper(k.Hash) }, core.CodeInvalid},
		"no scope":      {func(k *school.Token) { k.Scopes = nil }, core.CodeInvalid},
		"unknown scope": {func(k *school.Token) { k.Scopes = []school.Scope{"all"} }, core.CodeInvalid},
		"scope twice":   {func(k *school.Token) { k.Scopes = []school.Scope{school.ScopeRead, school.ScopeRead} }, core.CodeInvalid},
		"scoped link":   {func(k *school.Token) { k.Kind = school.TokenLink }, core.CodeInvalid},
		"long ago":      {func(k *school.Token) { k.Created = -1 }, core.CodeInvalid},
		"forever":       {func(k *school.Token) { k.Expires = 0 }, core.CodeInvalid},
		"too long":      {func(k *school.Token) { k.Expires = k.Created + school.MaxTokenLife.Milliseconds() + 1 }, core.CodeInvalid},
	})
}

func TestAccountCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() school.Account { return school.Account{User: "ann", Password: phc} }, school.Account.Check, map[string]refusal[school.Account]{
		"user":          {func(a *school.Account) { a.User = "../ann" }, core.CodeInvalid},
		"plain":         {func(a *school.Account) { a.Password = "s3cret" }, core.CodeInvalid},
		"plain with $":  {func(a *school.Account) { a.Password = "$s3cret" }, core.CodeInvalid},
		"two lines":     {func(a *school.Account) { a.Password = phc + "\ns3cret" }, core.CodeInvalid},
		"long":          {func(a *school.Account) { a.Password = phc + strings.Repeat("s3cret", 100) }, core.CodeLimit},
		"language":      {func(a *school.Account) { a.Language = "../de" }, core.CodeInvalid},
		"long language": {func(a *school.Account) { a.Language = "de" + strings.Repeat("-x", 10) }, core.CodeInvalid},
		"changed":       {func(a *school.Account) { a.ChangedAt = -1 }, core.CodeInvalid},
		"signed out":    {func(a *school.Account) { a.SignedOut = -1 }, core.CodeInvalid},
	})
}

func TestIdentityCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() school.Identity {
		return school.Identity{Issuer: "https://id.example", Subject: "b ü|1", User: "ann", Created: 5}
	}, school.Identity.Check, map[string]refusal[school.Identity]{
		"user":         {func(id *school.Identity) { id.User = "" }, core.CodeInvalid},
		"no issuer":    {func(id *school.Identity) { id.Issuer = "" }, core.CodeInvalid},
		"no URL":       {func(id *school.Identity) { id.Issuer = "id.example" }, core.CodeInvalid},
		"a space":      {func(id *school.Identity) { id.Issuer += "/a b" }, core.CodeInvalid},
		"a password":   {func(id *school.Identity) { id.Issuer = "https://a:b@id.example" }, core.CodeInvalid},
		"long issuer":  {func(id *school.Identity) { id.Issuer += strings.Repeat("x", school.MaxIssuer) }, core.CodeLimit},
		"no subject":   {func(id *school.Identity) { id.Subject = "" }, core.CodeInvalid},
		"two lines":    {func(id *school.Identity) { id.Subject = "a\nb" }, core.CodeInvalid},
		"no UTF-8":     {func(id *school.Identity) { id.Subject = "\xff" }, core.CodeInvalid},
		"long subject": {func(id *school.Identity) { id.Subject = strings.Repeat("x", school.MaxSub+1) }, core.CodeLimit},
		"long ago":     {func(id *school.Identity) { id.Created = -1 }, core.CodeInvalid},
	})
}

func TestUserCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() school.User {
		return school.User{Handle: "ann", Name: "Ann", Email: "ann@school.example", Created: 5}
	}, school.User.Check, map[string]refusal[school.User]{
		"no handle":    {func(u *school.User) { u.Handle = "" }, core.CodeInvalid},
		"upper case":   {func(u *school.User) { u.Handle = "Ann" }, core.CodeInvalid},
		"a path":       {func(u *school.User) { u.Handle = "../ann" }, core.CodeInvalid},
		"two lines":    {func(u *school.User) { u.Name = "a\nb" }, core.CodeInvalid},
		"zero byte":    {func(u *school.User) { u.Name = "a\x00b" }, core.CodeInvalid},
		"escape":       {func(u *school.User) { u.Name = "\x1b[31m" }, core.CodeInvalid},
		"no UTF-8":     {func(u *school.User) { u.Name = "\xff" }, core.CodeInvalid},
		"long name":    {func(u *school.User) { u.Name = strings.Repeat("x", core.MaxLine+1) }, core.CodeLimit},
		"no @":         {func(u *school.User) { u.Email = "ann" }, core.CodeInvalid},
		"two @":        {func(u *school.User) { u.Email = "a@b@c" }, core.CodeInvalid},
		"two mails":    {func(u *school.User) { u.Email = "a@b,c@d" }, core.CodeInvalid},
		"mail line":    {func(u *school.User) { u.Email = "a@b\nBcc: c" }, core.CodeInvalid},
		"mail case":    {func(u *school.User) { u.Email = "Ann@school.example" }, core.CodeInvalid},
		"mail space":   {func(u *school.User) { u.Email = "a b@c" }, core.CodeInvalid},
		"long mail":    {func(u *school.User) { u.Email = "a@" + strings.Repeat("x", school.MaxEmail) }, core.CodeLimit},
		"class's role": {func(u *school.User) { u.Roles = []core.UserRole{core.RoleTeacher} }, core.CodeInvalid},
		"many roles":   {func(u *school.User) { u.Roles = slices.Repeat([]core.UserRole{core.RoleAdmin}, school.MaxRoles+1) }, core.CodeLimit},
		"long ago":     {func(u *school.User) { u.Created = -1 }, core.CodeInvalid},
	})
}

func TestSubmissionCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() school.Submission {
		return school.Submission{ID: "s1", Class: "cs101", Assignment: "hw1", User: "ann", Kind: "public", At: 5}
	}, school.Submission.Check, map[string]refusal[school.Submission]{
		"id":             {func(sub *school.Submission) { sub.ID = "a/b" }, core.CodeInvalid},
		"no class":       {func(sub *school.Submission) { sub.Class = "" }, core.CodeInvalid},
		"kind":           {func(sub *school.Submission) { sub.Kind = "" }, core.CodeInvalid},
		"by":             {func(sub *school.Submission) { sub.By = "A" }, core.CodeInvalid},
		"at":             {func(sub *school.Submission) { sub.At = -1 }, core.CodeInvalid},
		"grade":          {func(sub *school.Submission) { sub.Grade = &school.Grade{Score: 1, By: "ann"} }, core.CodeInvalid},
		"key":            {func(sub *school.Submission) { sub.Idempotency = "a\nb" }, core.CodeInvalid},
		"long key":       {func(sub *school.Submission) { sub.Idempotency = strings.Repeat("x", core.MaxLine+1) }, core.CodeLimit},
		"request's name": {func(sub *school.Submission) { sub.Request = "A" }, core.CodeInvalid},
	})
}

func TestExperimentCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() school.Experiment {
		return school.Experiment{ID: "e1", Class: "cs101", Assignment: "hw1", Repeat: 1, State: school.ExperimentRunning, By: "tess", Created: 5}
	}, school.Experiment.Check, map[string]refusal[school.Experiment]{
		"id":       {func(e *school.Experiment) { e.ID = "" }, core.CodeInvalid},
		"state":    {func(e *school.Experiment) { e.State = "" }, core.CodeInvalid},
		"by":       {func(e *school.Experiment) { e.By = "" }, core.CodeInvalid},
		"decided":  {func(e *school.Experiment) { e.DecidedBy = "A" }, core.CodeInvalid},
		"never":    {func(e *school.Experiment) { e.Repeat = 0 }, core.CodeInvalid},
		"often":    {func(e *school.Experiment) { e.Repeat = school.MaxRepeat + 1 }, core.CodeInvalid},
		"requests": {func(e *school.Experiment) { e.Requests = -1 }, core.CodeInvalid},
		"user":     {func(e *school.Experiment) { e.Users = []string{""} }, core.CodeInvalid},
		"users":    {func(e *school.Experiment) { e.Users = slices.Repeat([]string{"ann"}, school.MaxExperimentUsers+1) }, core.CodeLimit},
	})
}

func TestClassCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() school.Class { return school.Class{Handle: "cs101", Title: "One", Term: "2026", Created: 5} }, school.Class.Check, map[string]refusal[school.Class]{
		"handle":   {func(c *school.Class) { c.Handle = "cs/101" }, core.CodeInvalid},
		"no title": {func(c *school.Class) { c.Title = " " }, core.CodeInvalid},
		"control":  {func(c *school.Class) { c.Title = "a\x07" }, core.CodeInvalid},
		"term":     {func(c *school.Class) { c.Term = "a\nb" }, core.CodeInvalid},
		"long":     {func(c *school.Class) { c.Term = strings.Repeat("x", core.MaxLine+1) }, core.CodeLimit},
	})
}

func TestEnrolmentCheck(t *testing.T) {
	t.Parallel()
	good := func() school.Enrolment {
		return school.Enrolment{Class: "cs101", User: "ann", Role: core.RoleStudent, Since: 5}
	}
	refuses(t, good, school.Enrolment.Check, map[string]refusal[school.Enrolment]{
		"class":          {func(e *school.Enrolment) { e.Class = "" }, core.CodeInvalid},
		"user":           {func(e *school.Enrolment) { e.User = "A" }, core.CodeInvalid},
		"no role":        {func(e *school.Enrolment) { e.Role = "" }, core.CodeInvalid},
		"cluster's role": {func(e *school.Enrolment) { e.Role = core.RoleAdmin }, core.CodeInvalid},
		"since":          {func(e *school.Enrolment) { e.Since = -1 }, core.CodeInvalid},
	})
}

func TestGradeCheck(t *testing.T) {
	t.Parallel()
	inf := math.Inf(-1)
	good := func() school.Grade { return school.Grade{Score: -1, By: "tess", Reason: "a\nb"} }
	refuses(t, good, func(g school.Grade) error { return g.Check("s1") }, map[string]refusal[school.Grade]{
		"no one":   {func(g *school.Grade) { g.By = "" }, core.CodeInvalid},
		"infinite": {func(g *school.Grade) { g.Score = math.Inf(1) }, core.CodeInvalid},
		"none":     {func(g *school.Grade) { g.Score = math.NaN() }, core.CodeInvalid},
		"most":     {func(g *school.Grade) { g.MaxScore = &inf }, core.CodeInvalid},
		"control":  {func(g *school.Grade) { g.Reason = "\x7f" }, core.CodeInvalid},
		"long":     {func(g *school.Grade) { g.Reason = strings.Repeat("x", core.MaxReason+1) }, core.CodeLimit},
	})
}
