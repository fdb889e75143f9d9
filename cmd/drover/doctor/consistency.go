package doctor

import (
	"context"
	"fmt"
	"strings"

	"drover/cmd/drover/access"
	"drover/core"
)

// consistency runs the consistency check.
func (f *Findings) consistency(ctx context.Context, h *access.Cluster) error {
	broken, err := h.Consistency().CheckConsistency(ctx)
	if err != nil {
		return err
	}
	for _, v := range broken {
		f.fail("consistency "+string(v.Rule), mend(h, v), "%s: %s", v.ID, v.Text)
	}
	if len(broken) == 0 {
		f.ok("consistency", "every request and every VM is in exactly one place")
	}
	return nil
}

// mend returns the command that repairs a broken invariant.
func mend(h *access.Cluster, v core.Violation) string {
	const overseer = "drover overseer --once"
	switch v.Rule {
	case core.RuleKeys:
		switch {
		case strings.HasPrefix(v.ID, "pool:"):
			return overseer + " lists the pool again"
		case v.ID == "meta":
			return "upgrade all components and clients to one version, then drover doctor"
		}
		return fmt.Sprintf("somebody else writes into this namespace: give them another; redis-cli UNLINK %s:%s", h.Config.Namespace, v.ID)
	case core.RuleRequests:
		id, _, err := core.ParseKey(v.ID)
		if err != nil {
			return overseer + " takes it out"
		}
		return overseer + " leaves it in one place; drover request show " + id + " says where"
	case core.RuleMoves:
		return overseer + " ends the record; drover host evacuations shows it"
	case core.RuleTurns:
		return overseer + " puts the submitter in its turn"
	case core.RuleOwners:
		return overseer + " fences it and settles what it holds; one that lives begins anew"
	case core.RuleTokens:
		return overseer + " empties the slot"
	case core.RuleVMs:
		return overseer + " has the VM destroyed; if it stays, restart its host's vmfactory with --recover"
	case core.RuleTasks:
		return overseer + " queues it again"
	case core.RuleHosts:
		return overseer + " puts its record right; drover host show " + v.ID
	case core.RuleCounts:
		return overseer + " counts anew; until then pages show a wrong number, or a limit refuses too much or too little"
	case core.RuleOutput:
		return overseer + " removes that live output, or counts anew; results have the whole"
	case core.RuleOversold:
		return overseer + " gives the lease other hosts, or says what it lacks; drover lease show " + v.ID
	case core.RuleLedger:
		return overseer + " runs again what the result store calls unfinished, and takes out of Redis what it does not"
	case core.RuleLeft:
		return overseer + " removes it; nothing suffers until then"
	}
	return overseer
}
