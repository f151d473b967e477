import sys, time

sys.path.insert(0, "/work/main")
from datetime import datetime, UTC
from pathlib import Path
import pytest
from tests.factories import *
from socialq.desk.bulk_import import import_file
from socialq.store.media_files import MediaFiles
from socialq.store import views


def test_perf(stores, tmp_path):
    t = make_tenant(stores)
    c = make_client(stores, t)
    for i in range(3):
        make_account(stores, t, c, handle=f"u{i}@social.example")
    n = 5000
    body = "text,publish_at,timezone,accounts\n" + "".join(
        f'"Hello number {i} with a link https://example.com/{i}",2027-03-{1 + i % 28:02d}T{i % 24:02d}:{i % 60:02d},Europe/Berlin,"mastodon:u0@social.example,u1@social.example,u2@social.example"\n'
        for i in range(n)
    )
    now = datetime(2026, 12, 1, tzinfo=UTC)
    import cProfile, pstats

    kw = dict(tenant=t, client=c, data=body.encode(), base_folder=tmp_path, now=now, actor="test")
    t0 = time.time()
    r = import_file(stores, MediaFiles(f"file://{tmp_path}/m"), **kw)
    print("import", time.time() - t0, r.imported, r.targets, r.refused[:3], r.notes[:3])
    t0 = time.time()
    r = import_file(stores, MediaFiles(f"file://{tmp_path}/m"), **kw)
    print("again", time.time() - t0, r.imported, r.already_there)
    with stores.cell("default").app.transaction(tenant=t) as s:
        t0 = time.time()
        l = views.list_targets(s, limit=3)
        print(l[0])
        print(time.time() - t0)
        p = views.show_post(s, l[0].post_id)
        print(p)
        print(views.counts(s))
