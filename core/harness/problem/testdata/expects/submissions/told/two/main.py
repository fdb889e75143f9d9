raise SystemExit("this is not what starts")
