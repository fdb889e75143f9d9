package sign

// Provider is a provider of OpenID Connect.
type Provider struct {
	Name string // as people know it
}
