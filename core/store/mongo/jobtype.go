package mongo

import (
	"context"

	"drover/core"
)

// PutJobType stores a type, see core.JobTypes. (Concurrent calls may create a few more than the maximum.)
func (s *Store) PutJobType(ctx context.Context, t core.JobType) error {
	if err := core.CheckName("job type", t.Name); err != nil {
		return err
	}
	doc, err := encode(t, t.Name)
	if err != nil {
		return err
	}
	if err := s.room(ctx, core.TypeQuota, t.Name, jobTypes, m{"_id": m{"$ne": t.Name}}); err != nil {
		return err
	}
	return s.put(ctx, jobTypes, t.Name, m{"json": doc})
}

// GetJobType returns a type, see core.JobTypes.
func (s *Store) GetJobType(ctx context.Context, name string) (core.JobType, error) {
	found, err := settings[core.JobType](ctx, s, jobTypes, m{"_id": name}, "_id")
	if err != nil {
		return core.JobType{}, err
	}
	if len(found) == 0 {
		return core.JobType{}, core.NoJobType(name)
	}
	return found[0], nil
}

// JobTypes lists all types, see core.JobTypes.
func (s *Store) JobTypes(ctx context.Context) ([]core.JobType, error) {
	return settings[core.JobType](ctx, s, jobTypes, m{}, "_id")
}

// DeleteJobType removes a type, see core.JobTypes.
func (s *Store) DeleteJobType(ctx context.Context, name string) error {
	n, err := s.remove(ctx, jobTypes, m{"_id": name})
	if err == nil && n == 0 {
		err = core.NoJobType(name)
	}
	return err
}
