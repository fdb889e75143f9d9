package core

// Quota bounds how many of something there may be.
type Quota struct {
	Most int
	Text string // with the id of what is one more, and how many others there are
}

// Check returns LIMIT if one more is one too many beside so many others.
func (q Quota) Check(id string, others int) error {
	if others < q.Most {
		return nil
	}
	return Errorf(CodeLimit, id, q.Text, id, others)
}

// The quotas of what the cluster keeps settings of.
var (
	PoolQuota     = Quota{256, "there are %[2]d pools already, the most there may be"}
	ImageQuota    = Quota{1000, "there are %[2]d images already, the most there may be: remove some that no pool uses"}        // older ones of a name included
	WebhookQuota  = Quota{1000, "there are %[2]d webhooks already, the most there may be: remove some that nobody listens to"} // of one class, and of none
	ScheduleQuota = Quota{MaxSchedules, "there are %[2]d schedules already, the most there may be: remove some"}
	WishQuota     = Quota{MaxHostWishes, "there are %[2]d wishes of hosts already, the most there may be: forget hosts that are gone"}
)
