package enter

import (
	"fmt"
	"io"
	"os"
)

// maxPlan bounds the bytes of a plan.
const maxPlan = 1 << 20

// carryOut reads a plan from standard input and carries it out; with maybe there may be none. Package initialisation
// runs on the main thread, which matters: credentials, filters and namespaces belong to a thread, and the thread that
// executes the agent is the one that survives.
func carryOut(maybe bool) error {
	text, err := io.ReadAll(io.LimitReader(os.Stdin, maxPlan))
	if err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	if maybe && len(text) == 0 {
		return nil
	}
	plan, err := decodePlan(text)
	if err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	calls := newCompiled()
	if err := calls.compile(plan); err != nil {
		return err
	}
	calls.run()
	return nil
}
