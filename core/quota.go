package core

// Quota bounds the number of objects of one sort.
type Quota struct {
	Most int
	Text string // format of the error's text: the id of the object too many, and the number of others
}

// Check returns LIMIT if an object in addition to so many others would be too many.
func (q Quota) Check(id string, others int) error {
	if others < q.Most {
		return nil
	}
	return Errorf(CodeLimit, id, q.Text, id, others)
}

// Quotas of the settings that the cluster keeps.
var (
	PoolQuota     = Quota{256, "there are %[2]d pools already, the most there may be"}
	TypeQuota     = Quota{1000, "there are %[2]d job types already, the most there may be: delete some that nobody uses"}
	ImageQuota    = Quota{1000, "there are %[2]d images already, the most there may be: remove some that no pool uses"}        // older versions of a name included
	WebhookQuota  = Quota{1000, "there are %[2]d webhooks already, the most there may be: remove some that nobody listens to"} // of one class, or of those that belong to none
	ScheduleQuota = Quota{MaxSchedules, "there are %[2]d schedules already, the most there may be: remove some"}
	LeaseQuota    = Quota{MaxOpenLeases, "there are %[2]d open leases already, the most there may be: delete some that nobody needs"}
	GroupQuota    = Quota{MaxHostGroups, "there are %[2]d host groups already, the most there may be: delete some"}
	JoinQuota     = Quota{MaxJoinTokens, "there are %[2]d join tokens already, the most there may be: revoke some that are not needed"}
	WishQuota     = Quota{MaxHostWishes, "there are %[2]d wishes of hosts already, the most there may be: forget hosts that are gone"}
)
