import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Timer;
import java.util.TimerTask;

/** What a Java program does with a database: look at it, ask, read in parts, fail, cancel. */
public class Ask {
    public static void main(String[] arguments) throws SQLException {
        try (Connection db = DriverManager.getConnection(arguments[0])) {
            String[] kinds = {"TABLE"};
            try (ResultSet rows = db.getMetaData().getTables(null, "public", "%", kinds)) {
                while (rows.next()) System.out.println("table " + rows.getString("TABLE_NAME"));
            }
            try (ResultSet rows = db.getMetaData().getColumns(null, "public", "patients", "cost")) {
                while (rows.next()) System.out.println("column " + rows.getString("TYPE_NAME"));
            }
            try (ResultSet rows = db.getMetaData().getPrimaryKeys(null, "public", "diseases")) {
                while (rows.next()) System.out.println("key " + rows.getString("COLUMN_NAME"));
            }
            String sql = "SELECT disease FROM patients WHERE age > ? AND admitted >= ? AND gender = ?"
                + " GROUP BY disease HAVING count(*) > 5000 WITH ACCURACY (epsilon = 0.3)";
            for (int i = 0; i < 7; i++) { // from the sixth on the driver prepares and asks in binary
                try (PreparedStatement asked = db.prepareStatement(sql)) {
                    asked.setInt(1, 1);
                    asked.setDate(2, Date.valueOf("2020-03-01"));
                    asked.setString(3, "F");
                    try (ResultSet rows = asked.executeQuery()) {
                        while (rows.next()) System.out.println("answer " + rows.getString(1));
                    }
                }
            }
            db.setAutoCommit(false);
            try (Statement asked = db.createStatement()) {
                asked.setFetchSize(1);
                ResultSet rows = asked.executeQuery(
                    "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 10");
                while (rows.next()) System.out.println("part " + rows.getString(1));
            }
            db.rollback();
            try (Statement asked = db.createStatement()) {
                asked.executeQuery("SELECT x FROM patients GROUP BY ward HAVING count(*) > 5");
            } catch (SQLException error) {
                System.out.println("error " + error.getSQLState());
            }
            db.rollback();
            try (Statement asked = db.createStatement()) {
                new Timer(true).schedule(new TimerTask() {
                    @Override public void run() {
                        try { asked.cancel(); } catch (SQLException error) { }
                    }
                }, 500);
                asked.executeQuery(arguments[1]);
            } catch (SQLException error) {
                System.out.println("cancelled " + error.getSQLState());
            }
        }
    }
}
