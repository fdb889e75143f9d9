// Package history keeps what happened in the cluster: it copies changes of state from Redis' stream of events into
// the result store, counts what ended, and samples how full the cluster is.
//
//	what                     written by                  key                       a crash between two writes
//	changes of state         Copier, every 2 s           thing, time, place        the next run writes the same rows again
//	how far it copied        Copier, after the rows      one mark, compared        the next run reads the same events again
//	what ended, in buckets   Counter, every 30 s         step, name, begin         a bucket is counted anew from the results
//	samples                  Counter, every 30 s         step, name, begin         the last one of a minute counts
//	hosts' loads             Counter, every 30 s         step, shard, begin        the last one of two minutes counts
//
// Any number of overseers may do so at once: all of them write the same. A wipe of Redis loses the events since the
// Copier's last run and nothing else; a row of its own, a gap, says between which moments changes may be missing.
package history
