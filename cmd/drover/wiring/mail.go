package wiring

import (
	"drover/cmd/drover/access"
	"drover/core/account"
	"drover/taskrunner"
)

// mailOf returns the server that takes a cluster's mail, nil if there is none, and the accounts whose links are sent.
func mailOf(h *access.Cluster) (*taskrunner.SMTP, *account.Service, error) {
	m, err := h.Config.MailServer()
	if err != nil || m == nil {
		return nil, nil, err
	}
	accounts, err := h.Accounts()
	return &taskrunner.SMTP{
		Host: m.Host, Port: m.Port, User: m.User, Password: m.Password, TLS: m.TLS, Plain: m.Plain, From: m.From,
	}, accounts, err
}
