package enter

import (
	"fmt"
	"io"
	"os"
)

// maxPlan bounds the bytes of a plan.
const maxPlan = 1 << 20

// carryOut reads the plan from standard input and carries it out; it returns only if it cannot. Package initialisation
// runs on the main thread, which matters: credentials, filters and namespaces belong to a thread, and the thread that
// executes the agent is the one that survives.
func carryOut() error {
	text, err := io.ReadAll(io.LimitReader(os.Stdin, maxPlan))
	if err != nil {
		return fmt.Errorf("reading the plan: %w", err)
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
