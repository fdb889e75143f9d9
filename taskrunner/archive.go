package taskrunner

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"drover/core"
	"drover/core/classes/portable"
	"drover/core/school"
)

// Bounds of an archive. A zip's list of files is kept in memory until its end,
// some 400 bytes for each.
const (
	maxArchiveFiles = 250_000
	maxArchiveBytes = 16 << 30 // before compression
)

// submissionsAtOnce is how many submissions are read from the store at once.
const submissionsAtOnce = 100

// momentForm is the format of times in names and lists, in UTC.
const momentForm = "2006-01-02-15-04-05"

// Archive makes a zip of an assignment's submissions: a folder for each user, in it one for each submission, named by
// its time. An archive of all users also has the table users.csv, which gives each user's name in lists of scores.
// The zip is stored in the blob store while it is made. The same submissions make the same bytes.
//
// Staff of the class are left out, unless one user is named; former members are included. A file that the blob store
// lost is replaced by an empty one.
type Archive struct {
	Store interface {
		school.Roster
		school.Assignments
		school.Submissions
	}
	downloads

	mostFiles int   // 0 is maxArchiveFiles
	mostBytes int64 // 0 is maxArchiveBytes
}

// Kind is school.KindArchive.
func (a *Archive) Kind() Kind { return Kind{Name: school.KindArchive, Handle: a.handle} }

func (a *Archive) handle(ctx context.Context, job *Job) (End, error) {
	var args school.ArchiveArgs
	if err := job.Args(&args); err != nil {
		return End{}, err
	}
	if err := open(ctx, a.Store, args.Class, args.Assignment); err != nil {
		return End{}, err
	}
	staff, err := staffOf(ctx, a.Store, args.Class)
	if err != nil {
		return End{}, err
	}
	p := &picking{Archive: a, args: args, staff: staff}
	total, err := a.measure(ctx, p)
	if err != nil {
		return End{}, err
	}
	if args.For != "" && args.User != "" {
		return End{}, core.Errorf(core.CodeInvalid, args.Class+"/"+args.Assignment, "an archive for a similarity checker is of all students: name no user")
	}
	if args.Pseudonyms && args.For == "" {
		return End{}, core.Errorf(core.CodeInvalid, args.Class+"/"+args.Assignment, "pseudonyms are for an archive that is for a similarity checker: say which")
	}
	made := packing{blobs: a.blobs, total: total, job: job, args: args}
	d, err := a.put(ctx, "submissions.zip", "application/zip", 2*maxArchiveBytes, func(w io.Writer) error {
		made.zip = zip.NewWriter(w)
		if err := p.each(ctx, func(s *school.Submission) error { return made.add(ctx, s) }); err != nil {
			return err
		}
		switch {
		case args.For == school.ForDolos:
			if err := a.info(ctx, &made); err != nil {
				return err
			}
		case args.User == "" && args.For == "":
			if err := a.index(ctx, &made); err != nil {
				return err
			}
		}
		return made.zip.Close()
	})
	if err != nil {
		return End{}, err
	}
	return End{Note: made.note(), Download: d}, nil
}

// measure counts the submissions, and returns LIMIT if they are too many for one archive.
func (a *Archive) measure(ctx context.Context, p *picking) (submissions int64, err error) {
	mostFiles, mostBytes := a.mostFiles, a.mostBytes
	if mostFiles == 0 {
		mostFiles, mostBytes = maxArchiveFiles, maxArchiveBytes
	}
	files, bytes := 0, int64(0)
	err = p.each(ctx, func(s *school.Submission) error {
		submissions++
		files += len(s.Files)
		for _, f := range s.Files {
			bytes = min(bytes, math.MaxInt64-max(f.Size, 0)) + max(f.Size, 0)
		}
		if files > mostFiles || bytes > mostBytes {
			return core.Errorf(core.CodeLimit, s.Class+"/"+s.Assignment,
				"the submissions are too much for one archive, which holds %d files and %s: ask for the newest of each user, or for one user",
				mostFiles, core.SizeText(mostBytes))
		}
		return nil
	})
	return submissions, err
}

// picking is the selection of submissions for an archive.
type picking struct {
	*Archive
	args  school.ArchiveArgs
	staff map[string]bool
}

// each calls fn with every submission: users in order, for each the newest first.
func (p *picking) each(ctx context.Context, fn func(*school.Submission) error) error {
	if p.args.User != "" && p.args.Latest {
		return p.counts(ctx, fn)
	}
	if p.args.User != "" {
		return p.of(ctx, p.args.User, fn)
	}
	return eachStanding(ctx, p.Store, p.args.Class, p.args.Assignment, "", func(s *school.Standing) error {
		switch {
		case p.staff[s.Submission.User]:
			return nil
		case p.args.Latest || p.args.For != "":
			return fn(&s.Submission)
		}
		return p.of(ctx, s.Submission.User, fn)
	})
}

// counts calls fn with the submission of the user that counts.
func (p *picking) counts(ctx context.Context, fn func(*school.Submission) error) error {
	leads, err := p.Store.Leads(ctx, p.args.Class, []string{p.args.User})
	for _, l := range leads {
		if l.Assignment != p.args.Assignment {
			continue
		}
		s, err := p.Store.GetSubmission(ctx, l.Submission)
		if err != nil {
			return err
		}
		return fn(&s)
	}
	return err
}

// of calls fn with the submissions of a user.
func (p *picking) of(ctx context.Context, user string, fn func(*school.Submission) error) error {
	f := school.SubmissionFilter{Class: p.args.Class, Assignment: p.args.Assignment, User: user, Limit: submissionsAtOnce}
	for {
		page, err := p.Store.ListSubmissions(ctx, f)
		if err != nil {
			return err
		}
		for i := range page {
			f.Before = page[i].Submission.ID
			if err := fn(&page[i].Submission); err != nil {
				return err
			}
		}
		if len(page) < f.Limit {
			return nil
		}
	}
}

// packing is an archive that is being made.
type packing struct {
	blobs core.Blobs
	zip   *zip.Writer
	job   *Job
	total int64 // submissions
	args  school.ArchiveArgs
	rows  []compared // of info.csv

	user        string
	moments     map[string]int // times of the user's submissions, with their number
	users       []string
	done        int64 // submissions
	files, lost int
}

// add adds a submission, users one after the other.
func (p *packing) add(ctx context.Context, s *school.Submission) error {
	if s.User != p.user {
		p.user, p.moments = s.User, map[string]int{}
		p.users = append(p.users, s.User)
	}
	at := time.UnixMilli(s.At).UTC()
	folder := at.Format(momentForm)
	p.moments[folder]++
	if n := p.moments[folder]; n > 1 {
		folder = fmt.Sprintf("%s-%d", folder, n)
	}
	folder = portable.Part(s.User) + "/" + folder + "/"
	if p.args.For != "" {
		folder = p.compare(s)
	}
	if len(s.Files) == 0 {
		if _, err := p.zip.CreateHeader(&zip.FileHeader{Name: folder, Modified: at}); err != nil {
			return err
		}
	}
	names := portable.NewNames()
	for _, f := range s.Files {
		if err := p.pack(ctx, folder, names, f, at); err != nil {
			return err
		}
	}
	p.done++
	p.job.Progress(p.done, p.total, s.User)
	return nil
}

// pack adds a file. If the store has lost or damaged it, an empty one that says so follows.
func (p *packing) pack(ctx context.Context, folder string, names *portable.Names, f core.File, at time.Time) error {
	name := names.Safe(f.Path)
	r, err := p.blobs.Open(ctx, f.Digest)
	if err == nil {
		if err = p.write(folder+name, r, at); err == nil {
			p.files++
			if p.args.For == school.ForDolos {
				p.rows[len(p.rows)-1].files = append(p.rows[len(p.rows)-1].files, folder+name)
			}
			return nil
		}
	}
	if !core.Is(err, core.CodeNotFound) && !errors.Is(err, core.ErrDamaged) {
		return err
	}
	p.lost++
	_, err = p.create(folder+names.Safe(name+".lost"), at)
	return err
}

// write writes a file and closes its source.
func (p *packing) write(name string, from io.ReadCloser, at time.Time) (err error) {
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := p.create(name, at)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return err
}

func (p *packing) create(name string, at time.Time) (io.Writer, error) {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at}
	h.SetMode(0o644)
	return p.zip.CreateHeader(h)
}

// indexFile lists the users of the folders. No handle has a dot, so no folder has this name.
const indexFile = "users.csv"

// index writes the users of the folders, with their names in lists of scores.
func (a *Archive) index(ctx context.Context, p *packing) error {
	if len(p.users) == 0 {
		return nil
	}
	to, err := p.create(indexFile, time.Time{})
	if err != nil {
		return err
	}
	rows := csv.NewWriter(to)
	_ = rows.Write([]string{"Username", "Handle", "Name", "Folder"}) // Error below has it
	for _, handle := range p.users {
		u, err := a.Store.GetUser(ctx, handle)
		if err != nil && !core.Is(err, core.CodeNotFound) {
			return err
		}
		_ = rows.Write([]string{portable.Cell(cmp.Or(u.Email, handle)), handle, portable.Cell(u.Name), portable.Part(handle)})
	}
	rows.Flush()
	return rows.Error()
}

func (p *packing) note() string {
	note := fmt.Sprintf("%d submissions of %d users, %d files", p.done, len(p.users), p.files)
	if p.lost > 0 {
		note += fmt.Sprintf("; %d files are lost: empty ones whose names end in .lost stand for them", p.lost)
	}
	return note
}
