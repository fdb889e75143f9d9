package transfer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/core"
	"drover/core/classes"
	"drover/core/classes/portable"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/service/pattern"
	"drover/core/webhook"
)

// Bounds on what is fetched of a repository.
const (
	fetchTime  = 40 * time.Second
	fetchBytes = 64 << 20 // that one fetch receives
	fetchMost  = 4        // fetches at once
	maxAddress = 300      // bytes
)

// Repositories fetches files of public Git repositories for submissions, by the program git.
//
// What is fetched and where from is chosen by users, so it is bounded in each way: only by https, only from hosts that
// the site lists, and only from addresses to which webhooks may go, which is checked at each connection, whatever a
// name resolved to before (git has no network but the tunnel of this program); one commit without its history,
// submodules and hooks; so many bytes, in so much time and memory; with no credentials, no configuration and no
// questions. Nothing is checked out: the files are read from an archive as those of uploads are, which refuses links.
type Repositories struct {
	Hosts     []string // such as github.com; none: nothing is fetched
	Addresses webhook.Addresses
	Port      string // of the hosts; "" is 443
	Cert      string // file with the certificate that is trusted; "" is those of the system

	bytes int64  // that a fetch receives; 0 is fetchBytes
	temp  string // folder for temporary ones; "" is the system's

	once  sync.Once
	slots chan struct{}
}

// ref is a name of a branch or tag, or a commit's hash.
var ref = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}$`)

// Offered reports whether there is any host to fetch from.
func (r *Repositories) Offered() bool { return r != nil && len(r.Hosts) > 0 }

// Submission returns a submission of a commit: its files are fetched once it is clear that it may be made.
func (r *Repositories) Submission(ctx context.Context, n classes.NewSubmission, address, name string) classes.NewSubmission {
	n.Source = &school.Source{}
	n.Files, n.Check = r.files(ctx, address, name, n.Source), func() error { return r.check(address, name) }
	return n
}

// check returns INVALID for an address or a name from which nothing is fetched. An empty name is the default branch.
func (r *Repositories) check(address, name string) error {
	u, err := url.Parse(address)
	wrong := func(format string, args ...any) error { return core.Errorf(core.CodeInvalid, "", format, args...) }
	switch {
	case !r.Offered():
		return wrong("no repositories are fetched here: submit files")
	case address == "":
		return wrong("the repository has no address: write one such as https://%s/ann/hw1", r.Hosts[0])
	case !strings.HasPrefix(strings.ToLower(address), "https://"):
		return wrong("the address of the repository must begin with https://: write one such as https://%s/ann/hw1", r.Hosts[0])
	case err != nil || len(address) > maxAddress || u.Opaque != "":
		return wrong("the address of the repository is not readable: write one such as https://%s/ann/hw1", r.Hosts[0])
	case u.User != nil:
		return wrong("the address of the repository must not hold a name or a password: it must be public")
	case u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(address, "?#") || strings.Trim(u.Path, "/") == "":
		return wrong("the address names no repository: write one such as https://%s/ann/hw1", r.Hosts[0])
	case !slices.Contains(r.Hosts, strings.ToLower(u.Hostname())) || u.Port() != r.Port:
		return wrong("repositories are fetched from %s, and not from %.80q", strings.Join(r.Hosts, ", "), u.Host)
	case name != "" && (!ref().MatchString(name) || strings.Contains(name, "..")):
		return wrong("%.80q is no name of a branch or tag, and no commit", name)
	}
	return nil
}

// files yields the files of a commit. It fetches when the first one is wanted, and then sets what into names. Returns
// INVALID for what is wrong with the repository, LIMIT for what is too much.
func (r *Repositories) files(ctx context.Context, address, name string, into *school.Source) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		if err := r.yield(ctx, address, name, into, yield); err != nil {
			yield(intake.Upload{}, err)
		}
	}
}

// errEnough ends the reading of files.
var errEnough = errors.New("no more files are wanted")

func (r *Repositories) yield(ctx context.Context, address, name string, into *school.Source, yield func(intake.Upload, error) bool) error {
	if err := r.check(address, name); err != nil {
		return err
	}
	r.once.Do(func() { r.slots = make(chan struct{}, fetchMost) })
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return core.Errorf(core.CodeLimit, "", "too many repositories are being fetched now: try again in a minute")
	}
	dir, err := os.MkdirTemp(r.temp, "drover-git-")
	if err != nil {
		return core.Wrap(err, core.CodeInternal, "", "there is no folder for the repository")
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is a temporary folder
	g := &git{dir: dir, cert: r.Cert}
	commit, err := r.fetch(ctx, g, address, name)
	if err != nil {
		return err
	}
	*into = school.Source{Address: address, Ref: name, Commit: commit}
	err = g.archive(ctx, commit, func(archive io.Reader) error {
		for u, err := range unpack(strings.TrimPrefix(address, "https://")+".tar", archive, portable.NewNames()) {
			if err != nil {
				return err
			}
			if !yield(u, nil) {
				return errEnough
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// fetch fetches one commit and returns its hash.
func (r *Repositories) fetch(ctx context.Context, g *git, address, name string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", core.Wrap(err, core.CodeInvalid, "", "the address of the repository is not readable")
	}
	t, err := openTunnel(ctx, u.Hostname()+":"+cmp.Or(r.Port, "443"), r.Addresses.Control("https"), cmp.Or(r.bytes, fetchBytes))
	if err != nil {
		return "", err
	}
	defer t.close()
	g.proxy = t.url()
	if name == "" {
		name = "HEAD"
	}
	if _, err := g.run(ctx, "init", "--quiet", "--bare", "--template="); err != nil {
		return "", core.Wrap(err, core.CodeInternal, "", "no repository can be fetched here")
	}
	said, err := g.run(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", address, "+"+name+":refs/heads/fetched")
	switch {
	case err == nil:
	case t.refused():
		return "", core.Errorf(core.CodeInvalid, "", "the address of the repository leads to a network from which nothing is fetched")
	case t.full():
		return "", core.Errorf(core.CodeLimit, "", "the commit has more than %d MiB: submit an archive of the files that are needed", fetchBytes>>20)
	case ctx.Err() != nil:
		return "", core.Errorf(core.CodeLimit, "", "the repository was not fetched within %s: try again, or submit an archive", fetchTime)
	case strings.Contains(said, "couldn't find remote ref") || strings.Contains(said, "not our ref"):
		return "", core.Errorf(core.CodeInvalid, "", "the repository has no branch, tag or commit %.80q", name)
	case strings.Contains(said, "could not read Username") || strings.Contains(said, "not found"):
		return "", core.Errorf(core.CodeInvalid, "", "there is no such repository, or it is not public")
	default:
		return "", core.Errorf(core.CodeInvalid, "", "the repository cannot be fetched: is this the address of a public one, and is its server up?")
	}
	commit, err := g.run(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/fetched^{commit}")
	if err != nil {
		return "", core.Errorf(core.CodeInvalid, "", "%.80q is no commit of the repository", name)
	}
	return strings.TrimSpace(commit), nil
}
