def applies(job):
    return False
