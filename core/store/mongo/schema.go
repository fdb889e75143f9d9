package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The collections.
const (
	meta        = "meta"     // the store's id, its schema, the calendar, counters
	requests    = "requests" // with the result of the current generation
	attempts    = "attempts" // refused results, and results of former generations
	outputs     = "outputs"  // the parts of long outputs that do not fit into a request
	pools       = "pools"
	images      = "images"
	tasks       = "tasks"
	schedules   = "schedules"
	webhooks    = "webhooks"
	users       = "users"  // with their classes and accounts
	tokens      = "tokens" // of users; only the hashes of the secrets
	identities  = "identities"
	classes     = "classes"
	assignments = "assignments"
	deadlines   = "deadlines"
	submissions = "submissions" // with their grades
	leads       = "leads"       // which submissions count
	experiments = "experiments"
	comments    = "comments" // on submissions
	entries     = "audit_log"
	wishes      = "wishes" // of hosts
	jobTypes    = "job_types"
	batches     = "batches"
	leases      = "leases" // the calendar is in meta
	hostGroups  = "host_groups"
	instances   = "instances"      // of host providers
	joins       = "join_tokens"    // of hosts; only the hashes of the secrets
	imports     = "roster_imports" // the last of each class
	ltiRecords  = "lti"            // of learning platforms; may hold a private key

	stateChanges = "state_changes"
	buckets      = "buckets" // of statistics
)

// index is an index of a collection. A unique one enforces a rule of school.ResultStore, on one field that is left
// out if it has no value; the others make the cost of a page independent of the collection's size.
type index struct {
	in     string
	name   string
	unique bool
	keys   bson.D
}

// indexes are all indexes. The meaning of a name never changes.
var indexes = []index{
	{requests, "once", true, by("once")},
	{requests, "state", false, by("state", "_id")},
	{requests, "submitter", false, by("submitter", "_id")},
	{requests, "pool", false, by("pool", "_id")},
	{requests, "assignment", false, by("assignment", "_id")},
	{requests, "submission", false, by("submission", "state")},
	{requests, "finished", false, by("kept", "finished", "_id")},
	{requests, "outputs", false, by("pool", "expired", "finished", "_id")},
	{requests, "outbox", false, by("outbox_at")},
	{requests, "ended", false, by("finished")},
	{requests, "removed", false, by("removed", "_id")},
	{attempts, "request", false, by("request", "phase", "recorded", "order")},
	{attempts, "ended", false, by("accepted", "recorded")},
	{outputs, "request", false, by("request")},
	{images, "newest", false, by("name", "-seq")},
	{tasks, "unique", true, by("unique")},
	{tasks, "state", false, by("state", "_id")},
	{tasks, "kind", false, by("kind", "_id")},
	{tasks, "requester", false, by("requester", "_id")},
	{tasks, "class", false, by("class", "_id")},
	{tasks, "parent", false, by("parent", "state")},
	{tasks, "lane", false, by("lane", "_id")},
	{tasks, "ended", false, by("ended", "_id")},
	{tasks, "outbox", false, by("outbox_at")},
	{webhooks, "class", false, by("class", "_id")},
	{users, "email", true, by("email")},
	{users, "classes", false, by("classes", "_id")},
	{tokens, "hash", true, by("hash")},
	{tokens, "user", false, by("user", "kind", "-created", "-_id")},
	{tokens, "expires", false, by("expires")},
	{identities, "user", false, by("user", "_id")},
	{assignments, "class", false, by("class", "handle")},
	{deadlines, "class", false, by("class", "assignment", "user")},
	{deadlines, "user", false, by("user")},
	{deadlines, "weigh", false, by("weigh", "class")},
	{submissions, "once", true, by("once")},
	{submissions, "standing", false, by("class", "assignment", "user", "-_id")},
	{submissions, "assignment", false, by("class", "assignment", "_id")},
	{submissions, "class", false, by("class", "_id")},
	{submissions, "user", false, by("user", "_id")},
	{submissions, "request", false, by("request")},
	{submissions, "unmade", false, by("unmade", "_id")},
	{submissions, "weigh", false, by("weigh", "class")},
	{requests, "weigh", false, by("weigh")},
	{assignments, "weigh", false, by("weigh", "class")},
	{leads, "user", false, by("class", "user", "assignment")},
	{leads, "assignment", false, by("class", "assignment", "user")},
	{leads, "submission", false, by("submission")},
	{ltiRecords, "kind", false, by("kind", "name")},
	{ltiRecords, "class", false, by("class")},
	{experiments, "assignment", false, by("class", "assignment", "_id")},
	{comments, "submission", false, by("submission", "_id")},
	{comments, "once", true, by("once")},
	{comments, "outbox", false, by("outbox_at")},
	{comments, "open", false, by("open", "class", "assignment")},
	{comments, "assignment", false, by("class", "assignment", "_id")},
	{comments, "unread", false, by("unread", "user", "_id")},
	{wishes, "host", false, by("host", "kind")},
	{batches, "once", true, by("once")},
	{batches, "submitter", false, by("submitter", "_id")},
	{batches, "open", false, by("open", "_id")},
	{batches, "created", false, by("created", "_id")},
	{leases, "open", false, by("open", "start", "_id")},
	{leases, "class", false, by("class", "_id")},
	{leases, "end", false, by("end", "start")},
	{leases, "ended", false, by("ended", "_id")},
	{leases, "outbox", false, by("outbox_at")},
	{instances, "group", false, by("group", "_id")},
	{instances, "state", false, by("state", "_id")},
	{instances, "ended", false, by("ended", "_id")},
	{stateChanges, "at", false, by("at")},
	{buckets, "step", false, by("step", "at")},
	{entries, "class", false, by("class", "_id")},
	{entries, "actor", false, by("actor", "_id")},
	{entries, "subject", false, by("subject", "_id")},
}

func (i index) model() driver.IndexModel {
	opts := options.Index().SetName(i.name)
	if i.unique {
		opts.SetUnique(true).SetSparse(true)
	}
	return driver.IndexModel{Keys: i.keys, Options: opts}
}

// noCollection is the server's code for a collection that does not exist yet.
const noCollection = 26

// ensure creates the missing indexes.
func (s *Store) ensure(ctx context.Context) error {
	byCollection := map[string][]index{}
	for _, index := range indexes {
		byCollection[index.in] = append(byCollection[index.in], index)
	}
	for in, these := range byCollection {
		err := s.call(ctx, func(ctx context.Context) error {
			there, err := s.in(in).Indexes().ListSpecifications(ctx)
			if err != nil && !hasCode(err, noCollection) {
				return err
			}
			// FerretDB 1 stops if some of the given indexes exist.
			var missing []driver.IndexModel
			for _, index := range these {
				if !slices.ContainsFunc(there, func(one driver.IndexSpecification) bool { return one.Name == index.name }) {
					missing = append(missing, index.model())
				}
			}
			if len(missing) == 0 {
				return nil
			}
			_, err = s.in(in).Indexes().CreateMany(ctx, missing)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
