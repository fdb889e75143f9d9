package core

// Machine is what a host provider says of one of its machines.
type Machine struct {
	Foreign string `json:"machine"`              // the provider's name for it
	Token   string `json:"instance"`             // the Instance for which it was made
	Cluster string `json:"cluster"`              // the cluster for which it was made
	Group   string `json:"group"`                // the HostGroup
	Gone    bool   `json:"gone,omitempty"`       // it ends or has ended: what is left of it is the provider's record
	Created int64  `json:"created_ms,omitempty"` // ms since 1970 by the provider's clock; 0: not known
	Notice  int64  `json:"notice_ms,omitempty"`  // when the provider takes it back; 0: it did not say so
}
