package access

import (
	"context"
	"os/exec"
	"slices"

	"drover/core/classes"
	"drover/core/config"
	"drover/core/school"
	"drover/core/webhook"
	"drover/web/transfer"
)

// repositoriesOf fetches what is submitted from Git; nil if that is off, or there is no git.
func repositoriesOf(cfg *config.Config, addresses webhook.Addresses) *transfer.Repositories {
	if _, err := exec.LookPath("git"); err != nil || slices.Contains(cfg.GitHosts, "none") || len(cfg.GitHosts) == 0 {
		return nil
	}
	return &transfer.Repositories{Hosts: cfg.GitHosts, Addresses: addresses}
}

// SubmitGit submits a commit of a public Git repository, which this program fetches.
func (s *Session) SubmitGit(ctx context.Context, h classes.NewSubmission, address, ref string) (school.Submission, error) {
	return s.Reg.Submit(ctx, s.Actor, s.Repositories.Submission(ctx, h, address, ref))
}
