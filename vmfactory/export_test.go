package vmfactory

// Pairs is what New puts around each provider.
func Pairs(p Provider) Provider { return pairs{p} }
