# @EXPECTED_RESULTS@: RUN-ERROR
raise SystemExit(1)
