package resultstoretest

import "drover/core"

// Webhook makes a webhook of no class.
func Webhook(id string) core.Webhook {
	return core.Webhook{
		ID: id, By: "ann", URL: "https://example.org/hook?a=b", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		Events: []string{core.EventRequestEnded}, Created: 5,
	}
}
