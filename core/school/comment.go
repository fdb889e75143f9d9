package school

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"drover/core"
)

// CommentKind says what a comment is.
type CommentKind string

// The kinds.
const (
	CommentNote     CommentKind = "comment"  // of staff, seen by the student once it is released
	CommentQuestion CommentKind = "question" // of the student
	CommentAnswer   CommentKind = "answer"   // of staff, seen at once; it answers all open questions of the submission
)

// Bounds on comments.
const (
	MaxComments    = 200     // of a submission
	MaxCommentText = 8 << 10 // bytes
	MaxCommentLine = 1 << 20
	MaxCommentKey  = 100 // bytes
	maxCommentPath = 1 << 10
)

// Comment is what people say about a submission.
type Comment struct {
	ID         string      `json:"id"` // a lower-case ULID
	Submission string      `json:"submission"`
	Class      string      `json:"class"`
	Assignment string      `json:"assignment"` // its handle
	User       string      `json:"user"`       // whose submission it is
	Kind       CommentKind `json:"kind"`
	By         string      `json:"by"`
	Text       string      `json:"text"`           // Markdown
	File       string      `json:"file,omitempty"` // path in the submission; "" for one about all of it
	Line       int         `json:"line,omitempty"` // the first line; 0 for one about the whole file
	Last       int         `json:"last,omitempty"` // the last line
	At         int64       `json:"at_ms"`
	Edited     int64       `json:"edited_ms,omitempty"`
	Released   int64       `json:"released_ms,omitempty"` // since when its student sees it; 0 is a draft
	Open       bool        `json:"open,omitempty"`        // a question without an answer
	Unread     bool        `json:"unread,omitempty"`      // its student has not seen it

	Tell bool `json:"-"` // of a new question or answer: webhooks are notified of it

	Idempotency string `json:"idempotency,omitempty"` // a key chosen by By: at most one comment on the submission has it
}

// Draft reports whether only staff see the comment.
func (c *Comment) Draft() bool { return c.Released == 0 }

// Event is the event of a comment that its student sees.
func (c *Comment) Event() string {
	switch c.Kind {
	case CommentQuestion:
		return core.EventQuestionAsked
	case CommentAnswer:
		return core.EventQuestionAnswered
	default:
		return core.EventCommentReleased
	}
}

// CommentFilter selects comments. A zero field matches all.
type CommentFilter struct {
	Submission string
	Class      string
	Assignment string // its handle; with Class only
	User       string // whose submissions
	Open       bool   // only questions without an answer
	Unread     bool   // only those that their student has not seen
	Drafts     bool   // only those that are not released
	After      string // ids after this one: a page's cursor
	Limit      int    // 1 to 1000; 0 is 200
}

// QuestionCount is the number of open questions about an assignment.
type QuestionCount struct {
	Class      string `json:"class"`
	Assignment string `json:"assignment"`
	Open       int    `json:"open"`
}

// Comments keeps comments, questions and answers. They are deleted with their submission.
type Comments interface {
	// AddComment adds a comment; an answer closes all open questions of its submission. Returns NOTFOUND if there is no
	// such submission, CONFLICT for a taken id and for an idempotency key of its author that another one has, LIMIT.
	AddComment(ctx context.Context, c Comment) error
	GetComment(ctx context.Context, id string) (Comment, error)
	// EditComment replaces the text. Returns NOTFOUND.
	EditComment(ctx context.Context, id, text string, at int64) error
	// DeleteComment returns NOTFOUND for an unknown id.
	DeleteComment(ctx context.Context, id string) error
	// ListComments lists comments in order of id.
	ListComments(ctx context.Context, f CommentFilter) ([]Comment, error)
	// ReleaseComments releases the drafts of an assignment, or, unless submission is "", of one submission of it. It
	// returns how many there were. If tell is set, webhooks are notified of each.
	ReleaseComments(ctx context.Context, class, assignment, submission string, at int64, tell bool) (int, error)
	// SeeComments marks all released comments and answers of a submission as seen by its student.
	SeeComments(ctx context.Context, submission string) error
	// CountQuestions counts the open questions of classes, by assignment, in order; assignments without any are left out.
	CountQuestions(ctx context.Context, classes []string) ([]QuestionCount, error)
}

// Check checks a comment that is new. Returns INVALID or LIMIT.
func (c *Comment) Check() error {
	if err := cmp.Or(
		core.CheckNames("comment id", c.ID, "submission id", c.Submission, "class", c.Class, "assignment", c.Assignment, "user", c.User, "user", c.By),
		core.CheckTimes(c.ID, c.At, c.Edited, c.Released), CheckCommentText(c.Submission, c.Text),
	); err != nil {
		return err
	}
	switch {
	case len(c.Idempotency) > MaxCommentKey || !utf8.ValidString(c.Idempotency):
		return core.Errorf(core.CodeInvalid, c.Submission, "the idempotency key has more than %d bytes, or is no text", MaxCommentKey)
	case c.Kind != CommentNote && c.Kind != CommentQuestion && c.Kind != CommentAnswer:
		return core.Errorf(core.CodeInvalid, c.ID, "kind %.40q of a comment is none: use comment, question or answer", c.Kind)
	case len(c.File) > maxCommentPath:
		return core.Errorf(core.CodeLimit, c.Submission, "the path %.80q is too long", c.File)
	case c.File == "" && (c.Line != 0 || c.Last != 0):
		return core.Errorf(core.CodeInvalid, c.Submission, "line %d is of no file: say which file", c.Line)
	case c.Line < 0 || c.Last < c.Line || c.Last > MaxCommentLine || c.Line == 0 && c.Last != 0:
		return core.Errorf(core.CodeInvalid, c.Submission, "lines %d to %d are none: use the first and the last line, from 1 to %d", c.Line, c.Last, MaxCommentLine)
	}
	return nil
}

// CheckCommentText checks the text of a comment about a submission. Returns INVALID or LIMIT.
func CheckCommentText(submission, text string) error {
	if strings.TrimSpace(text) == "" {
		return core.Errorf(core.CodeInvalid, submission, "the comment has no text: write one")
	}
	return core.CheckText(submission, "text of the comment", text, MaxCommentText)
}
