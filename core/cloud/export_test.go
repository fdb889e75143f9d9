package cloud

// Hasty is a provider of processes that gives them no time to end by themselves.
func Hasty(p Provider) Provider {
	its := p.(processes)
	its.grace = 0
	return its
}
