package sqlite

import (
	"context"
	"database/sql"

	"drover/core"
)

// PutJobType stores a type, see core.JobTypes.
func (s *Store) PutJobType(ctx context.Context, jt core.JobType) error {
	if err := core.CheckName("job type", jt.Name); err != nil {
		return err
	}
	doc, err := encode(jt, jt.Name)
	if err != nil {
		return err
	}
	_, err = commit(ctx, s.committer, jt.Name, len(doc), func(t *tx) (int, error) {
		if err := t.room(core.TypeQuota, jt.Name, "SELECT count(*) FROM job_types WHERE name <> ?", jt.Name); err != nil {
			return 0, err
		}
		return t.exec("INSERT INTO job_types (name, settings) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET settings = ?2", jt.Name, doc)
	})
	return err
}

// GetJobType returns a type, see core.JobTypes.
func (s *Store) GetJobType(ctx context.Context, name string) (core.JobType, error) {
	found, err := s.jobTypes(ctx, "SELECT settings FROM job_types WHERE name = ?", name)
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
	return s.jobTypes(ctx, "SELECT settings FROM job_types ORDER BY name")
}

// DeleteJobType removes a type, see core.JobTypes.
func (s *Store) DeleteJobType(ctx context.Context, name string) error {
	_, err := commit(ctx, s.committer, name, 0, func(t *tx) (int, error) {
		n, err := t.exec("DELETE FROM job_types WHERE name = ?", name)
		if err == nil && n == 0 {
			err = core.NoJobType(name)
		}
		return n, err
	})
	return err
}

func (s *Store) jobTypes(ctx context.Context, query string, args ...any) ([]core.JobType, error) {
	var all []core.JobType
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var doc sql.RawBytes
		if err := rows.Scan(&doc); err != nil {
			return err
		}
		var jt core.JobType
		err := decode(doc, &jt, "a job type")
		all = append(all, jt)
		return err
	})
	return all, err
}
